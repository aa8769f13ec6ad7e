"""The tutorial shows the real output, and its commands work: they are run here."""

import re
import subprocess
import sys

import pytest

from tests.installation.api_client import ApiClient
from tests.installation.manage_process import ROOT, Installation, Running

pytestmark = pytest.mark.service
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", TUTORIAL, re.M | re.S)
    return [text for language, text in fenced if language == kind]


def test_tutorial_shows_the_output_of_the_first_start(first_start: tuple[Installation, Running]):
    """Line by line; numbers, folders and secrets differ."""
    _, running = first_start

    def bare(line: str) -> str:
        return re.sub(r"[\d.]+|/\S*|\S*…\S*", "", line).strip()

    (shown,) = blocks("")
    said = [bare(line) for line in running.lines if not line.startswith("{")]
    for line in filter(None, shown.splitlines()):
        assert bare(line) in said, line


def test_tutorial_commands_work(stopped_installation: Installation):
    """With an own agent, as at that step: the commands must not use it, because its key costs money."""
    running = stopped_installation.up()
    ApiClient(stopped_installation, running).create_agent(
        "Ada", model="anthropic/claude-sonnet-4-5"
    )
    commands = [text for text in blocks("sh") if "make run" not in text]
    assert len(commands) == 4
    script = "set -eu\n" + "".join(commands)
    script = script.replace(".venv/bin/python", sys.executable)
    script = script.replace("python3", sys.executable)
    script = script.replace("127.0.0.1:8000", f"127.0.0.1:{running.port}")
    ended = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT,
        env=stopped_installation.environment(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "/link/" in ended.stdout
    assert '"handle":"guide"' in ended.stdout
    assert '"agent.tool.returned"' in ended.stdout
    assert "ok      Server" in ended.stdout
