"""Words the end of a command for a model: its output, how it ended, and what to do about it."""

import dataclasses
import posixpath
import re
import signal

from paca.engine.tools.base import ToolContext, ToolOutput
from paca.engine.tools.shaping import (
    OUTPUT_BYTES,
    OUTPUT_FOLDER,
    count,
    head_and_tail,
    screen_text,
    seconds_phrase,
)
from paca.engine.workspace import CommandOutcome, SandboxGone, SandboxWorkspace, WorkspaceError

# What programs say when they wanted to ask somebody.
_ASKED = re.compile(
    r"EOFError: EOF when reading a line"
    r"|terminal prompts disabled|could not read (?:Username|Password)"
    r"|terminal is required to|no tty present|a password is required|not a (?:tty|TTY|terminal)\b"
    r"|Inappropriate ioctl for device|Terminal is dumb, but EDITOR unset"
    r"|problem with the editor|Please supply the message using either -m or -F"
    r"|due to empty commit message|Host key verification failed"
    r"|[\[(]y(?:es)?/n(?:o)?[^\])]*[\])][?: ]*(?:Abort\.)?\s*\Z",
    re.IGNORECASE,
)
# bash's own read ends at once and in silence when there is nothing to read.
_READS = re.compile(r"(?:^|[;&(\n]|\bdo\b|\bthen\b)\s*read\b(?![^;\n]*<)", re.MULTILINE)


# The remark on how a command ended: one of the few that close what the model reads.
_TIME = re.compile(r"^(\[.*?) after [\d.]+ s(?=.*\]$)")
MOST_REMARKS = 8


def wanted_input(command: str, output: str) -> bool:
    """Whether the command seems to have asked for input that nobody could give."""
    return bool(_READS.search(command[:4000]) or _ASKED.search(output[-4000:]))


async def keep_whole(
    outcome: CommandOutcome, call_id: str, workspace: SandboxWorkspace
) -> CommandOutcome:
    """See that an output which is about to be cut for the model stands whole in a file.

    The runner does so with what it cuts itself; what it lets pass can still be too much here.
    """
    if outcome.truncated or len(outcome.output.encode()) <= OUTPUT_BYTES:
        return outcome
    path = f"{OUTPUT_FOLDER}/{call_id}.txt"
    try:
        ignore = f"{posixpath.dirname(OUTPUT_FOLDER)}/.gitignore"
        await workspace.write(f"{call_id}-ignore", ignore, b"*\n")
        await workspace.write(f"{call_id}-output", path, outcome.output.encode())
    except SandboxGone:
        raise
    except WorkspaceError:  # full, or the agent took the folder away: the ends must do
        return outcome
    return dataclasses.replace(outcome, file=path)


def command_output(
    outcome: CommandOutcome,
    context: ToolContext,
    *,
    limit_seconds: float,
    asked: bool = False,
    nothing: str = "",
) -> ToolOutput:
    """The output, capped, then lines in brackets: how it ended, and what to know about that.

    With ``nothing``, the words for an empty output, a success goes without the first of them.
    """
    text, cut = head_and_tail(screen_text(outcome.output).strip("\n"))
    failed = bool(outcome.cause) or outcome.exit_code != 0
    remarks = [] if nothing and not failed else [_ending(outcome, context, limit_seconds)]
    if asked:
        remarks.append(
            "It wanted input, and standard input is closed: give the answer as an argument, an "
            "option such as -y or -m, or in a here-document."
        )
    if outcome.truncated or cut:
        where = f"all of it is in {outcome.file}" if outcome.file else "its middle is not kept"
        remarks.append(f"The output is cut here; {where}.")
    closing = "".join(f"\n[{remark}]" for remark in remarks)
    return ToolOutput(
        (text or nothing or "(no output)") + closing,
        failed=failed,
        exit_code=outcome.exit_code,
        truncated=outcome.truncated or cut,
        file=outcome.file,
        cause=outcome.cause,
    )


def without_time(output: str) -> str:
    """The same words but for how long it took: two runs of a command compare by the rest."""
    lines = output.rsplit("\n", MOST_REMARKS)
    for number in range(len(lines) - 1, -1, -1):
        if not (lines[number].startswith("[") and lines[number].endswith("]")):
            break
        lines[number] = _TIME.sub(r"\1", lines[number])
    return "\n".join(lines)


def _ending(outcome: CommandOutcome, context: ToolContext, limit_seconds: float) -> str:
    after = f"after {seconds_phrase(outcome.seconds)}"
    if outcome.cause == "timed_out":
        return (
            f"Stopped {after}: the time limit of this call is {seconds_phrase(limit_seconds)}. "
            "All its processes were ended. Give a larger timeout_seconds or do it in smaller steps."
        )
    if outcome.cause == "out_of_memory":
        return (
            f"Killed {after}: out of memory{_limit(context.memory_mib)}. "
            "Use less at a time: fewer parallel jobs, smaller pieces, a stream instead of a list."
        )
    if outcome.cause == "too_many_processes":
        return (
            f"Ended {after}: it started more processes than the sandbox allows. "
            "Start fewer at once."
        )
    if outcome.cause == "disk_full":
        return (
            f"Ended {after}: the workspace is full{_limit(context.workspace_mib)}. "
            "Delete what is no longer needed, then try again."
        )
    if outcome.cause == "cancelled":
        return f"Cancelled {after}."
    return f"exit {_exit_phrase(outcome.exit_code)} {after}"


def _limit(mebibytes: int) -> str:
    return f" (the limit is {count(mebibytes, 'MiB', 'MiB')})" if mebibytes else ""


def _exit_phrase(code: int | None) -> str:
    if code is None:
        return "unknown"
    number = -code if code < 0 else code - 128
    if number in set(signal.Signals):
        return f"{code} (ended by {signal.Signals(number).name})"
    return str(code)
