"""Reads the file for agents of the workspace, or of a repository in it."""

from __future__ import annotations

from paca import events
from paca.common.text import to_storable
from paca.engine.workspace import SandboxWorkspace, WorkspaceError

INSTRUCTIONS_FILE = "AGENTS.md"
MAX_CHARACTERS = 16_000
MAX_BYTES_OF_CHARACTER = 4


async def read_instructions(
    workspace: SandboxWorkspace, *, shown: str, path: str = INSTRUCTIONS_FILE
) -> events.InstructionsRead | None:
    """The event that shows the file to the model; None without a file, or if this text is ``shown`` already.

    A file that cannot be read counts as none: the agent can look at it with its tools.
    """
    limit = (MAX_CHARACTERS + 1) * MAX_BYTES_OF_CHARACTER
    try:
        data = await workspace.read(path, limit=limit)
    except WorkspaceError:  # also of a sandbox that has just ended, which its next use reports
        return None
    text = to_storable(data.decode(errors="replace")).strip()
    beginning = text[:MAX_CHARACTERS]
    # guard: instructions-are-shown-once
    if not beginning or beginning == shown:
        return None
    return events.InstructionsRead(path=path, text=beginning, truncated=len(text) > MAX_CHARACTERS)
