"""Real MCP servers from the registries, in the sandbox: git and fetch from PyPI, filesystem from npm."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paca.engine.mcp import group
from tests.flows.test_mcp import add_stdio
from tests.support.flow import assert_replay_matches, wait_until
from tests.support.model_script import calls, says

# They install from registries, which the other tiers do without.
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.service,
    pytest.mark.docker,
    pytest.mark.timeout(600),
]
PREPARE = "mkdir servers repo; cd repo; git init -q; echo '<h1>A page of our own</h1>' > page.html"
FILESYSTEM = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"


def install(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder / "lib")]
    subprocess.run([*pip, "mcp-server-git", "mcp-server-fetch"], check=True, capture_output=True)
    npm = [
        "npm",
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--prefix",
        str(folder / "node"),
    ]
    subprocess.run(
        [*npm, "@modelcontextprotocol/server-filesystem"], check=True, capture_output=True
    )


@pytest.mark.skipif(not shutil.which("npm"), reason="needs npm")
def test_servers_from_the_registries_work_in_the_sandbox(flow, tmp_path, monkeypatch):
    monkeypatch.setattr(group, "WAIT_SECONDS", 120.0)
    install(tmp_path)
    found = flow.ask("Begin", [calls(bash=PREPARE), says("Ready.")])
    for name in ("lib", "node"):
        shutil.copytree(tmp_path / name, flow.file_of(found, "servers") / name, symlinks=True)
    python = {
        "command": "python3",
        "env": {"PYTHONPATH": "/workspace/servers/lib"},
        "start_seconds": 120,
    }
    add_stdio(flow, "git", **python, args=["-m", "mcp_server_git"])
    add_stdio(
        flow,
        "fetch",
        **python,
        args=["-m", "mcp_server_fetch", "--ignore-robots-txt", "--allow-private-ips"],
    )
    files = [f"/workspace/servers/node/{FILESYSTEM}", "/workspace"]
    add_stdio(flow, "files", command="node", args=files, env={}, start_seconds=120)
    serve = "(cd repo; exec python3 -m http.server 8123) >/dev/null 2>&1 & sleep 2"
    page = {"path": "/workspace/repo/page.html"}
    flow.ask(
        "Work",
        [
            calls(mcp__files__read_text_file=page),
            calls(mcp__git__git_status={"repo_path": "/workspace/repo"}),
            calls(bash=serve),
            calls(mcp__fetch__fetch={"url": "http://127.0.0.1:8123/page.html", "raw": True}),
            says("Done."),
        ],
        after=found,
    )
    assert not found.has_event("mcp.unavailable"), found.event_data("mcp.unavailable")
    read, status, _, fetched = found.outputs[-4:]
    assert "A page of our own" in read
    assert "page.html" in status
    assert "A page of our own" in fetched
    assert_replay_matches(found)
    # The server says itself that this may destroy something.
    flow.model.script([calls(mcp__files__write_file=page | {"content": "gone"})])
    flow.send(found, "Overwrite it")
    wait_until(lambda: found.status == "waiting/approval")
    (asked,) = found.event_data("approval.requested")
    assert asked["rule"] == "destructive_tool"
