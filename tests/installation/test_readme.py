"""The script of the README works as it stands there."""

import re
import subprocess
import sys

import pytest

from tests.installation.manage_process import ROOT, Installation

pytestmark = pytest.mark.service


def test_script_of_the_readme_gives_a_task_to_the_agent_and_prints_its_comment(
    stopped_installation: Installation,
):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```python\n(.*?)^```$", readme, re.M | re.S)
    assert len([line for line in script.splitlines() if line]) < 15
    running = stopped_installation.up()
    token = stopped_installation.run("create_token", "admin").stdout.split()[-1]
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env={"TOKEN": token, "PACA": f"http://127.0.0.1:{running.port}"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("DEMO-4 I wrote `primes.py`")
    assert "moved DEMO-4 to *Done*" in ended.stdout
