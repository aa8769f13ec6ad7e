"""The page's modules under node, where it is there; the browser tier runs the same files in Chromium."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.web import make_cases

TESTS = Path(__file__).parent / "js"


def test_the_cases_shared_with_the_page_are_fresh() -> None:
    assert make_cases.FILE.read_text() == make_cases.as_text()


if shutil.which("node"):

    def test_the_modules_pass_their_tests_under_node() -> None:
        ran = subprocess.run(
            ["node", "--test", *sorted(str(path) for path in TESTS.glob("*.test.js"))],
            capture_output=True,
            text=True,
            timeout=100,
            env={**os.environ, "NODE_NO_WARNINGS": "1"},
        )
        assert ran.returncode == 0, ran.stdout[-4000:]
        assert "# fail 0" in ran.stdout
