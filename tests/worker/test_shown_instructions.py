"""Files for agents are read again with each use of the sandbox, and shown again if they have changed."""

from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from paca import events
from paca.engine.context.history import History
from paca.sandbox.base import SandboxSpec
from paca.worker.sandboxes.run_sandbox import RunSandbox
from tests.support.fake_sandbox_workspace import FakeSandboxWorkspace

pytestmark = pytest.mark.anyio
FILES: dict[str, bytes | str] = {"AGENTS.md": "root", "boats/AGENTS.md": "Run make."}


async def shown(known: dict[str, str], unseen: dict[str, str]) -> list[tuple[str, str]]:
    added: list[events.Event] = []
    history = History(instructions=tuple(known.items()))
    log: Any = SimpleNamespace(history=history, add=added.append)
    manager: Any = None
    sandbox = RunSandbox(SandboxSpec(uuid4()), "", manager=manager, log=log, database=manager)
    workspace: Any = FakeSandboxWorkspace(FILES)
    await sandbox._show_instructions(workspace, unseen)
    return [(each.path, each.text) for each in added if isinstance(each, events.InstructionsRead)]


async def test_a_file_that_changed_is_shown_again_and_no_other() -> None:
    assert await shown({"AGENTS.md": "root", "boats/AGENTS.md": "Run make."}, {}) == []
    assert await shown({"AGENTS.md": "root", "boats/AGENTS.md": "Run tox."}, {}) == [
        ("boats/AGENTS.md", "Run make.")
    ]


async def test_a_new_sandbox_shows_the_file_of_the_workspace_once() -> None:
    assert await shown({}, {"AGENTS.md": ""}) == [("AGENTS.md", "root")]
    assert await shown({"AGENTS.md": "root"}, {"AGENTS.md": ""}) == []
