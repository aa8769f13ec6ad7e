"""The table of calls: what was started here, how it goes, how it ended. The truth while it lives."""

from __future__ import annotations

import os
import select
import time

from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.output import Output
from paca.sandbox.runner.processes import Tree, now_in_ticks
from paca.sandbox.runner.signals import SIGTERM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

GRACE = 1.0  # between TERM and KILL
LINGER = 0.1  # for output that arrives just after the command's end
RECHECK = 0.02
LIVE_EVERY = 0.05
KEEP_OUTPUTS = 64
MOST_AT_ONCE = 32
MOST_LEFT_OPEN = 128


class Call:
    """One command, from its start to its outcome."""

    def __init__(self, call_id: str, pid: int, fd: int, output: Output, *, timeout: float) -> None:
        self.id = call_id
        self.pid = pid
        self.fd = fd
        self.output = output
        self.began = time.monotonic()
        self.began_ticks = now_in_ticks() - 1  # it began a moment before we look
        self.deadline = self.began + timeout
        self.exit_code: int | None = None
        self.cause = ""
        self.exited_at = 0.0
        self.kill_at = 0.0  # when TERM becomes KILL; 0: nobody wants it dead
        self.look_at = 0.0
        self.live_at = 0.0
        self.seconds = 0.0
        self.ended = False
        self.oom_kills = 0

    @property
    def seconds_left(self) -> float:
        """How long the worker may have to wait for the outcome at most."""
        return 0.0 if self.ended else max(0.0, self.deadline - time.monotonic()) + 2 * GRACE

    def outcome(self) -> dict[str, Any]:
        """As the worker gets it."""
        return {
            "exit_code": self.exit_code,
            "output": self.output.text(),
            "seconds": round(self.seconds, 4),
            "truncated": self.output.truncated,
            "file": self.output.path,
            "cause": self.cause,
        }


class Calls:
    """Starts, follows and ends calls. ``on_live`` and ``on_end`` hear of them."""

    def __init__(
        self,
        *,
        poll: select.epoll,
        on_live: Callable[[Call], None],
        on_end: Callable[[Call], None],
        oom_kills: Callable[[], int],
    ) -> None:
        self._poll = poll
        self._on_live = on_live
        self._on_end = on_end
        self._oom_kills = oom_kills
        self.all: dict[str, Call] = {}
        self.running: dict[str, Call] = {}
        self._by_fd: dict[int, Call] = {}
        self._left_open: dict[int, None] = {}
        self._ended: list[Call] = []

    def begin(
        self, call_id: str, timeout: float, start: Callable[[int], int], output: Output
    ) -> Call:
        """Enter a call in the table and start it; ``start`` gets the descriptor to write to."""
        if len(self.running) >= MOST_AT_ONCE:
            raise RequestError(
                "workspace_error", f"{MOST_AT_ONCE} commands run already; wait for one to end."
            )
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        oom_kills = self._oom_kills()
        try:
            pid = start(write_end)
        except OSError as error:
            os.close(read_end)
            return self._never_started(call_id, error, output)
        finally:
            os.close(write_end)
        call = Call(call_id, pid, read_end, output, timeout=timeout)
        call.oom_kills = oom_kills
        self.all[call_id] = self.running[call_id] = self._by_fd[read_end] = call
        self._poll.register(read_end, select.EPOLLIN)
        return call

    def _never_started(self, call_id: str, error: OSError, output: Output) -> Call:
        call = Call(call_id, 0, -1, output, timeout=0)
        missing = isinstance(error, FileNotFoundError)
        call.exit_code = 127 if missing else 126
        output.feed(f"cannot start the command: {error.strerror}\n".encode())
        self.all[call_id] = call
        self._finish(call)
        return call

    def owns(self, fd: int) -> bool:
        return fd in self._by_fd

    def readable(self, fd: int) -> None:
        """Take what a command wrote."""
        call = self._by_fd[fd]
        if self._read(call):
            if call.output.live and time.monotonic() >= call.live_at:
                self._show(call)
        elif call.exited_at and not call.kill_at:
            self._finish(call)

    def _read(self, call: Call) -> bool:
        """False at the end of the stream, which also closes it."""
        try:
            data = os.read(call.fd, 1 << 16)
        except BlockingIOError:
            return True
        if data:
            call.output.feed(data)
            return True
        self._close(call)
        return False

    def _close(self, call: Call) -> None:
        self._poll.unregister(call.fd)
        del self._by_fd[call.fd]
        os.close(call.fd)
        call.fd = -1

    def _show(self, call: Call) -> None:
        call.live_at = time.monotonic() + LIVE_EVERY
        self._on_live(call)

    def reap(self) -> None:
        """Collect every child that ended; this is the only place that waits for any."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for call in list(self.running.values()):
                if call.pid == pid:
                    self._exited(call, status)

    def _exited(self, call: Call, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        call.exit_code = code if code >= 0 else 128 - code
        call.exited_at = time.monotonic()
        if call.fd >= 0:
            while call.fd >= 0 and select.select([call.fd], [], [], 0)[0]:
                self._read(call)
                if time.monotonic() - call.exited_at > LINGER:
                    break
        if call.fd < 0 and not call.kill_at:
            self._finish(call)

    def kill(self, call: Call, cause: str, *, at_once: bool = False) -> None:
        """End its whole tree: TERM, then KILL. ``at_once``: there is no time to be polite."""
        if call.ended or call.kill_at:
            return
        call.cause = cause
        call.kill_at = time.monotonic() + (0 if at_once else GRACE)
        if not at_once:
            self.tree(call).signal(SIGTERM)
        call.look_at = 0.0

    def tree(self, call: Call) -> Tree:
        alone = len(self.running) == 1 and call.id in self.running
        return Tree(call.id, call.pid, call.began_ticks, alone=alone)

    def tick(self, now: float) -> float:
        """Do what is due; when to come back, in seconds."""
        due = [3600.0]
        for call in list(self.running.values()):
            if call.kill_at:
                self._pursue(call, now)
                due.append(RECHECK)
            elif now >= call.deadline:
                self.kill(call, "timed_out")
                due.append(0)
            elif call.exited_at and now - call.exited_at >= LINGER:
                self._finish(call)
            else:
                due.append(self._next_look(call, now))
        if self._left_open:
            self._drain_left_open()
            due.append(LIVE_EVERY)
        return min(due)

    def _next_look(self, call: Call, now: float) -> float:
        wait = call.deadline - now
        if call.exited_at:
            wait = min(wait, call.exited_at + LINGER - now)
        if call.output.live:
            if now >= call.live_at:
                self._show(call)
            wait = min(wait, LIVE_EVERY)
        return max(wait, 0.001)

    def _pursue(self, call: Call, now: float) -> None:
        if now < call.look_at:
            return
        call.look_at = now + RECHECK
        tree = self.tree(call)
        left = tree.end() if now >= call.kill_at else len(tree.members())
        if left == 0 and (call.exited_at or now > call.kill_at + GRACE):
            self._finish(call)

    def _finish(self, call: Call) -> None:
        """Settle the outcome. What still holds the pipe open (a server begun with ``&``) lives on."""
        call.ended = True
        call.seconds = time.monotonic() - call.began
        if call.fd >= 0:
            fd = call.fd
            self._read_rest(call)
            if call.fd >= 0:
                self._poll.unregister(fd)
                del self._by_fd[fd]
                call.fd = -1
                self._leave_open(fd)
        call.output.close()
        self._name_cause(call)
        self.running.pop(call.id, None)
        self._ended.append(call)
        if len(self._ended) > KEEP_OUTPUTS:
            self._ended.pop(0).output.shrink()
        self._on_end(call)

    def _leave_open(self, fd: int) -> None:
        self._left_open[fd] = None
        if len(self._left_open) > MOST_LEFT_OPEN:
            oldest = next(iter(self._left_open))
            del self._left_open[oldest]
            os.close(oldest)

    def _read_rest(self, call: Call) -> None:
        for _ in range(64):
            if call.fd < 0 or not select.select([call.fd], [], [], 0)[0]:
                return
            self._read(call)

    def _name_cause(self, call: Call) -> None:
        if call.cause:
            return
        if call.exit_code == 153:  # SIGXFSZ: a file reached the size of the whole workspace
            call.cause = "disk_full"
        elif self._oom_kills() > call.oom_kills and (call.exit_code or len(self.running) <= 1):
            call.cause = "out_of_memory"

    def _drain_left_open(self) -> None:
        """Throw away, slowly, what those who live on still write, so that they neither block nor die."""
        for fd in list(self._left_open):
            try:
                data = os.read(fd, 1 << 20)
            except BlockingIOError:
                continue
            if not data:
                del self._left_open[fd]
                os.close(fd)
