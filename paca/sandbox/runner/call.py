"""One command of the sandbox: its state and its outcome."""

from __future__ import annotations

import time

from paca.sandbox.runner.processes import boot_ticks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from paca.sandbox.runner.output import CallOutput
    from paca.sandbox.runner.pipe_output import PipeOutput

GRACE_SECONDS = 1.0  # between TERM and KILL
NOT_ENDED = 1 << 62


class Call:
    """One command, from its start to its outcome."""

    def __init__(self, call_id: str, output: CallOutput | PipeOutput, *, timeout: float) -> None:
        self.id = call_id
        self.pid = 0
        self.fd = -1
        self.output = output
        self.started = time.monotonic()
        self.started_ticks = boot_ticks()
        self.ended_ticks = NOT_ENDED
        self.deadline = self.started + timeout
        self.exit_code: int | None = None
        self.cause = ""
        self.exited_at = 0.0
        self.kill_at = 0.0  # when KILL follows TERM; 0 if the call is not being ended
        self.check_at = 0.0
        self.empty_checks = 0  # how often in a row no process of it was found after KILL or TERM
        self.live_at = 0.0
        self.seconds = 0.0
        self.ended = False
        self.oom_kills = 0
        self.left: frozenset[int] | None = None  # the pids of its processes at its end
        self.living: list[tuple[int, str]] = []
        self.killed: list[tuple[int, str]] = []

    def may_own(self, pid: int, start_time: int) -> bool:
        """Whether the process began during this call.

        A tick of the clock is 10 ms, and the next call may begin in it. So of the processes that began in
        the last tick only those count that lived at the call's end.
        """
        if start_time == self.ended_ticks and self.left is not None and pid not in self.left:
            return False
        return self.started_ticks <= start_time <= self.ended_ticks

    @property
    def seconds_left(self) -> float:
        """The longest time until the outcome."""
        return 0.0 if self.ended else max(0.0, self.deadline - time.monotonic()) + 2 * GRACE_SECONDS

    def report(self, characters: int) -> dict[str, Any]:
        """How the call stands now, with the last ``characters`` of its output."""
        text = self.output.text()
        return {
            "ended": self.ended,
            "seconds": round(self.seconds if self.ended else time.monotonic() - self.started, 4),
            "output": text[-characters:] if characters else "",
        }

    def outcome(self) -> dict[str, Any]:
        """The outcome in the form that the worker expects.

        ``living``: processes of the call that go on after its end. ``killed``: those that were ended
        with it, without the first one.
        """
        return {
            "exit_code": self.exit_code,
            "output": self.output.text(),
            "seconds": round(self.seconds, 4),
            "truncated": self.output.truncated,
            "file": self.output.path,
            "cause": self.cause,
            "living": self.living,
            "killed": self.killed,
        }
