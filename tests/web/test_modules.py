"""The JavaScript tests under node, if it is installed. The browser tier runs them in Chromium."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.web import make_cases

TESTS = Path(__file__).parent / "js"


def test_cases_for_javascript_are_up_to_date() -> None:
    assert make_cases.FILE.read_text() == make_cases.as_text()


if shutil.which("node"):

    def test_modules_pass_their_tests_under_node() -> None:
        ran = subprocess.run(
            ["node", "--test", *sorted(str(path) for path in TESTS.glob("*.test.js"))],
            capture_output=True,
            text=True,
            timeout=100,
            env={**os.environ, "NODE_NO_WARNINGS": "1"},
        )
        assert ran.returncode == 0, ran.stdout[-4000:]
        assert "# fail 0" in ran.stdout
