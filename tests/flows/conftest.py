"""Journeys run on a world with a worker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.flow import Flow


@pytest.fixture
def flow(transactional_db: None, tmp_path: Path) -> Iterator[Flow]:
    with Flow(tmp_path) as found:
        yield found
