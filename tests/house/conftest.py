"""A real installation in a temporary folder, driven as a person at a terminal would."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.installation import Installation


@pytest.fixture
def paca(tmp_path: Path) -> Iterator[Installation]:
    installation = Installation(tmp_path / "data")
    yield installation
    installation.end()
