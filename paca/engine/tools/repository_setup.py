"""What follows the clone of a repository: its instructions for agents are shown, and its setup script is run.

Both are data of the repository, which anybody may have written. The script runs only where the project has switched
it on and the agent's policy would let its command run without a person.
"""

from __future__ import annotations

from dataclasses import dataclass

from paca import events
from paca.common.text import to_storable
from paca.engine.tools.base import RepositorySetup
from paca.engine.tools.formatting import truncate_middle
from paca.engine.tools.instructions_file import INSTRUCTIONS_FILE, read_instructions
from paca.engine.workspace import (
    Command,
    CommandOutcome,
    OnOutput,
    SandboxGone,
    SandboxWorkspace,
    WorkspaceError,
)

SETUP_SCRIPT = ".paca/setup.sh"
# The tool that clones adds them to its own time limit.
SETUP_SECONDS = 600.0
MAX_SCRIPT_BYTES = 256 << 10
MAX_OUTPUT_BYTES = 4_000
SWITCHED_OFF = "It has {script}, which this project does not run by itself. Read it, and run it with bash if you need what it sets up."
OTHER_BRANCH = "It has {script}, which runs by itself for the default branch only. Read it, and run it with bash if you need what it sets up."
ASKS = "It has {script}. Your approval policy asks a person first: call bash with it if you need what it sets up."


@dataclass(frozen=True, slots=True)
class AfterClone:
    """What the result of the clone says besides, and the events that come before that result in the log."""

    text: str = ""
    events: tuple[events.Event, ...] = ()


async def after_clone(
    workspace: SandboxWorkspace,
    path: str,
    *,
    call_id: str,
    setup: RepositorySetup,
    of_default_branch: bool = True,
    on_output: OnOutput | None = None,
) -> AfterClone:
    """Show the repository's AGENTS.md to the model, and run its ``.paca/setup.sh`` if that is allowed.

    ``path``: the folder of the clone in the workspace. ``of_default_branch``: others may be those of a pull request
    that nobody has looked at. A failure of the script is told and ends nothing. The script runs once for each ``call_id``: a worker that
    takes over waits for it. Raises ``SandboxGone`` and ``Superseded``.
    """
    read = await read_instructions(workspace, path=f"{path}/{INSTRUCTIONS_FILE}", shown="")
    script = await _read_script(workspace, path)
    ran = ""
    if script is not None and not (ran := _why_not(script, setup, of_default_branch)):
        command = Command(
            f"{call_id}-setup",
            argv=("/bin/bash", SETUP_SCRIPT),
            cwd=path,
            timeout_seconds=SETUP_SECONDS,
        )
        ran = _told(await workspace.run(command, on_output))
    noted = f"Its {INSTRUCTIONS_FILE} is shown above." if read is not None else ""
    return AfterClone(" ".join(part for part in (noted, ran) if part), (read,) if read else ())


async def _read_script(workspace: SandboxWorkspace, path: str) -> bytes | None:
    """The setup script; None if the repository has none, as most."""
    try:
        return await workspace.read(f"{path}/{SETUP_SCRIPT}", limit=MAX_SCRIPT_BYTES + 1)
    except SandboxGone:
        raise
    except WorkspaceError:
        return None


def _why_not(script: bytes, setup: RepositorySetup, of_default_branch: bool) -> str:
    """Why the script does not run by itself, in words; empty if it does."""
    # guard: setup-of-repositories-is-switched-on
    if not setup.is_on:
        return SWITCHED_OFF.format(script=SETUP_SCRIPT)
    # guard: setup-of-other-branches-is-read-first
    if not of_default_branch:
        return OTHER_BRANCH.format(script=SETUP_SCRIPT)
    # guard: setup-of-repositories-asks-as-a-command-does
    if len(script) > MAX_SCRIPT_BYTES or setup.needs_person(script.decode(errors="replace")):
        return ASKS.format(script=SETUP_SCRIPT)
    return ""


def _told(outcome: CommandOutcome) -> str:
    if outcome.exit_code == 0 and not outcome.cause:
        said = f"Its {SETUP_SCRIPT} ran for {outcome.seconds:.0f} s."
    else:
        how = outcome.cause.replace("_", " ") or f"exit code {outcome.exit_code}"
        said = f"Its {SETUP_SCRIPT} failed ({how}); the clone is there all the same."
    output, _ = truncate_middle(to_storable(outcome.output).strip(), MAX_OUTPUT_BYTES)
    return f"{said} Its output:\n{output}" if output else said
