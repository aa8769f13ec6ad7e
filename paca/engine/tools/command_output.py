"""Formats a command's outcome for the model: its output, how it ended, and advice."""

import dataclasses
import posixpath
import re
import signal

from paca.engine.tools.base import ToolContext, ToolOutput
from paca.engine.tools.formatting import (
    MAX_OUTPUT_BYTES,
    OUTPUT_FOLDER,
    format_seconds,
    pluralize,
    refused_remark,
    strip_terminal_codes,
    to_one_line,
    truncate_middle,
)
from paca.engine.workspace import (
    CommandOutcome,
    ProcessInfo,
    SandboxGone,
    SandboxWorkspace,
    WorkspaceError,
)

# Texts of programs that wanted input from a person.
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
# bash's read ends at once and prints nothing if standard input is closed.
_READS = re.compile(r"(?:^|[;&(\n]|\bdo\b|\bthen\b)\s*read\b(?![^;\n]*<)", re.MULTILINE)


# The duration in the remark on how a command ended.
_DURATION = re.compile(r"^(\[.*?) after [\d.]+ s(?=.*\]$)")
_PROCESS_NUMBER = re.compile(r"\b\d+ (?=\()")
MAX_REMARKS = 8
IN_BACKGROUND = "in the background with its output in a file"
MAX_NAMED_PROCESSES, MAX_LINE_CHARACTERS = 8, 100


def waited_for_input(command: str, output: str) -> bool:
    """Whether the command seems to have waited for input, which is closed here."""
    return bool(_READS.search(command[:4000]) or _ASKED.search(output[-4000:]))


async def save_full_output(
    outcome: CommandOutcome,
    call_id: str,
    workspace: SandboxWorkspace,
    *,
    limit: int = MAX_OUTPUT_BYTES,
) -> CommandOutcome:
    """Write an output that will be cut to ``limit`` bytes to a file, and name that file in the outcome.

    The runner does so with outputs that it cuts itself. Its limit is larger than that for the model.

    Raises ``SandboxGone``; other errors of the workspace leave the outcome as it is.
    """
    if outcome.truncated or len(outcome.output.encode()) <= limit:
        return outcome
    path = f"{OUTPUT_FOLDER}/{call_id}.txt"
    try:
        ignore = f"{posixpath.dirname(OUTPUT_FOLDER)}/.gitignore"
        await workspace.write(f"{call_id}-ignore", ignore, b"*\n")
        await workspace.write(f"{call_id}-output", path, outcome.output.encode())
    except SandboxGone:
        raise
    except WorkspaceError:  # the disk is full, or the agent removed the folder
        return outcome
    return dataclasses.replace(outcome, file=path)


def command_output(
    outcome: CommandOutcome,
    context: ToolContext,
    *,
    time_limit_seconds: float,
    wanted_input: bool = False,
    empty_text: str = "",
) -> ToolOutput:
    """The truncated output, then remarks in brackets: how the command ended, and advice.

    ``empty_text`` stands for an empty output. If it is given, a success has no remark on its end.
    """
    text, cut = truncate_middle(strip_terminal_codes(outcome.output).strip("\n"))
    failed = bool(outcome.cause) or outcome.exit_code != 0
    remarks = (
        [] if empty_text and not failed else [_end_remark(outcome, context, time_limit_seconds)]
    )
    if wanted_input:
        remarks.append(
            "It wanted input, and standard input is closed: give the answer as an argument, an "
            "option such as -y or -m, or in a here-document."
        )
    if outcome.living:
        remarks.append(
            f"Still running after its end: {_name_processes(outcome.living)}. End one with kill and its number."
        )
    if outcome.refused:
        remarks.append(refused_remark(outcome.refused))
    if outcome.truncated or cut:
        where = f"all of it is in {outcome.file}" if outcome.file else "its middle is not kept"
        remarks.append(f"The output is cut here; {where}.")
    closing = "".join(f"\n[{remark}]" for remark in remarks)
    return ToolOutput(
        (text or empty_text or "(no output)") + closing,
        failed=failed,
        exit_code=outcome.exit_code,
        truncated=outcome.truncated or cut,
        file=outcome.file,
        cause=outcome.cause,
    )


def without_duration(output: str) -> str:
    """The output of a call without its duration and numbers of processes, to compare two runs of a command."""
    lines = output.rsplit("\n", MAX_REMARKS)
    for number in range(len(lines) - 1, -1, -1):
        if not (lines[number].startswith("[") and lines[number].endswith("]")):
            break
        lines[number] = _PROCESS_NUMBER.sub("", _DURATION.sub(r"\1", lines[number]))
    return "\n".join(lines)


def _end_remark(outcome: CommandOutcome, context: ToolContext, time_limit_seconds: float) -> str:
    after = f"after {format_seconds(outcome.seconds)}"
    if outcome.cause == "timed_out":
        return (
            f"Stopped {after}: the time limit of this call is {format_seconds(time_limit_seconds)}. "
            f"{_killed_note(outcome)} Give a larger timeout_seconds, do it in smaller steps, or start what "
            f"must go on, such as a server, {'with background_run' if context.may_run_on else IN_BACKGROUND}."
        )
    if outcome.cause == "out_of_memory":
        return (
            f"Killed {after}: out of memory{_limit_note(context.memory_mib)}. "
            "Use less at a time: fewer parallel jobs, smaller pieces, a stream instead of a list."
        )
    if outcome.cause == "too_many_processes":
        return (
            f"Ended {after}: it started more processes than the sandbox allows. "
            "Start fewer at once."
        )
    if outcome.cause == "disk_full":
        return (
            f"Ended {after}: the workspace is full{_limit_note(context.workspace_mib)}. "
            "Delete what is no longer needed, then try again."
        )
    if outcome.cause == "cancelled":
        return f"Cancelled {after}."
    return f"exit {_exit_phrase(outcome.exit_code)} {after}"


def _killed_note(outcome: CommandOutcome) -> str:
    if not outcome.killed:
        return "All its processes were ended."
    return f"All its processes were ended, also {_name_processes(outcome.killed)}."


def _name_processes(processes: tuple[ProcessInfo, ...]) -> str:
    names = [
        f"{process.pid} ({to_one_line(process.line)[:MAX_LINE_CHARACTERS]})"
        for process in processes[:MAX_NAMED_PROCESSES]
    ]
    if left_out := len(processes) - len(names):
        names.append(f"{left_out} more")
    return ", ".join(names)


def _limit_note(mebibytes: int) -> str:
    return f" (the limit is {pluralize(mebibytes, 'MiB', 'MiB')})" if mebibytes else ""


def _exit_phrase(code: int | None) -> str:
    if code is None:
        return "unknown"
    number = -code if code < 0 else code - 128
    if number in set(signal.Signals):
        return f"{code} (ended by {signal.Signals(number).name})"
    return str(code)
