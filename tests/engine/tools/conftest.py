"""Fixture of the tools' tests: a session that makes calls as a run does."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from paca.engine.tools.base import ToolContext, ToolOutput, perform
from paca.engine.tools.registry import Toolbox, workspace_tools
from paca.engine.workspace import SandboxWorkspace
from tests.engine.tools.host_workspace import HostSandboxWorkspace


@dataclass
class ToolSession:
    """The tools of one run. The digests of files that were read are kept between calls."""

    workspace: Any
    toolbox: Toolbox = field(default_factory=lambda: Toolbox(workspace_tools()))
    seen_files: dict[str, str] = field(default_factory=dict)
    opened: int = 0
    limits: dict[str, Any] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    async def call(self, name: str, call_id: str = "", **arguments: Any) -> ToolOutput:
        call = self.toolbox.parse(name, arguments)
        call_id = call_id or f"call-{next(self.numbers)}"
        context = ToolContext(call_id, self._open, seen_files=self.seen_files, **self.limits)
        return await perform(call, context)

    async def _open(self) -> SandboxWorkspace:
        self.opened += 1
        return self.workspace

    def put(self, path: str, content: str | bytes) -> Path:
        file = self.workspace.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file


@pytest.fixture
def session(tmp_path: Path) -> ToolSession:
    return ToolSession(HostSandboxWorkspace(tmp_path / "workspace"))


@pytest.fixture(autouse=True)
def workspace_folder(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
