"""Reads the workspace's file for agents when a sandbox has started."""

from paca import events
from paca.common.text import to_storable
from paca.engine.context.instructions import INSTRUCTIONS_FILE, MAX_CHARACTERS
from paca.engine.workspace import SandboxWorkspace, WorkspaceError

MAX_BYTES_OF_CHARACTER = 4


async def read_instructions(
    workspace: SandboxWorkspace, *, shown: str
) -> events.InstructionsRead | None:
    """The event that shows the file to the model; None without a file, or if this text is ``shown`` already.

    A file that cannot be read counts as none: the agent can look at it with its tools.
    """
    limit = (MAX_CHARACTERS + 1) * MAX_BYTES_OF_CHARACTER
    try:
        data = await workspace.read(INSTRUCTIONS_FILE, limit=limit)
    except WorkspaceError:  # also of a sandbox that has just ended, which its next use reports
        return None
    text = to_storable(data.decode(errors="replace")).strip()
    beginning = text[:MAX_CHARACTERS]
    # guard: instructions-are-shown-once
    if not beginning or beginning == shown:
        return None
    return events.InstructionsRead(
        path=INSTRUCTIONS_FILE, text=beginning, truncated=len(text) > MAX_CHARACTERS
    )
