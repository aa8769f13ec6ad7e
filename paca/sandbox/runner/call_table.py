"""The table of calls: what was started here, how it goes, how it ended. The truth while it lives."""

from __future__ import annotations

import os
import select
import time

from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.output import CallOutput
from paca.sandbox.runner.processes import ProcessTree, boot_ticks
from paca.sandbox.runner.signals import SIGTERM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

GRACE_SECONDS = 1.0  # between TERM and KILL
LINGER_SECONDS = 0.1  # for output that arrives just after the command's end
RECHECK_SECONDS = 0.02
LIVE_SECONDS = 0.05
MAX_KEPT_OUTPUTS = 64
MAX_RUNNING = 32
MAX_ABANDONED_PIPES = 128


class Call:
    """One command, from its start to its outcome."""

    def __init__(
        self, call_id: str, pid: int, fd: int, output: CallOutput, *, timeout: float
    ) -> None:
        self.id = call_id
        self.pid = pid
        self.fd = fd
        self.output = output
        self.started = time.monotonic()
        self.started_ticks = boot_ticks() - 1  # it started a moment before we look
        self.deadline = self.started + timeout
        self.exit_code: int | None = None
        self.cause = ""
        self.exited_at = 0.0
        self.kill_at = 0.0  # when TERM becomes KILL; 0: nobody wants it dead
        self.check_at = 0.0
        self.live_at = 0.0
        self.seconds = 0.0
        self.ended = False
        self.oom_kills = 0

    @property
    def seconds_left(self) -> float:
        """How long the worker may have to wait for the outcome at most."""
        return 0.0 if self.ended else max(0.0, self.deadline - time.monotonic()) + 2 * GRACE_SECONDS

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


class CallTable:
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
        self._abandoned_pipes: dict[int, None] = {}
        self._ended: list[Call] = []

    def start(
        self, call_id: str, timeout: float, spawn: Callable[[int], int], output: CallOutput
    ) -> Call:
        """Enter a call in the table and start it; ``start`` gets the descriptor to write to."""
        if len(self.running) >= MAX_RUNNING:
            raise RequestError(
                "workspace_error", f"{MAX_RUNNING} commands run already; wait for one to end."
            )
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        oom_kills = self._oom_kills()
        try:
            pid = spawn(write_end)
        except OSError as error:
            os.close(read_end)
            return self._record_failed_start(call_id, error, output)
        finally:
            os.close(write_end)
        call = Call(call_id, pid, read_end, output, timeout=timeout)
        call.oom_kills = oom_kills
        self.all[call_id] = self.running[call_id] = self._by_fd[read_end] = call
        self._poll.register(read_end, select.EPOLLIN)
        return call

    def _record_failed_start(self, call_id: str, error: OSError, output: CallOutput) -> Call:
        call = Call(call_id, 0, -1, output, timeout=0)
        missing = isinstance(error, FileNotFoundError)
        call.exit_code = 127 if missing else 126
        output.feed(f"cannot start the command: {error.strerror}\n".encode())
        self.all[call_id] = call
        self._finish(call)
        return call

    def owns(self, fd: int) -> bool:
        return fd in self._by_fd

    def read_output(self, fd: int) -> None:
        """Take what a command wrote."""
        call = self._by_fd[fd]
        if self._read(call):
            if call.output.live and time.monotonic() >= call.live_at:
                self._send_live(call)
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

    def _send_live(self, call: Call) -> None:
        call.live_at = time.monotonic() + LIVE_SECONDS
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
                    self._record_exit(call, status)

    def _record_exit(self, call: Call, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        call.exit_code = code if code >= 0 else 128 - code
        call.exited_at = time.monotonic()
        if call.fd >= 0:
            while call.fd >= 0 and select.select([call.fd], [], [], 0)[0]:
                self._read(call)
                if time.monotonic() - call.exited_at > LINGER_SECONDS:
                    break
        if call.fd < 0 and not call.kill_at:
            self._finish(call)

    def kill(self, call: Call, cause: str, *, at_once: bool = False) -> None:
        """End its whole tree: TERM, then KILL. ``at_once``: there is no time to be polite."""
        if call.ended or call.kill_at:
            return
        call.cause = cause
        call.kill_at = time.monotonic() + (0 if at_once else GRACE_SECONDS)
        if not at_once:
            self.tree(call).signal(SIGTERM)
        call.check_at = 0.0

    def tree(self, call: Call) -> ProcessTree:
        is_only_call = len(self.running) == 1 and call.id in self.running
        return ProcessTree(call.id, call.pid, call.started_ticks, is_only_call=is_only_call)

    def tick(self, now: float) -> float:
        """Do what is due; when to come back, in seconds."""
        due = [3600.0]
        for call in list(self.running.values()):
            if call.kill_at:
                self._continue_kill(call, now)
                due.append(RECHECK_SECONDS)
            elif now >= call.deadline:
                self.kill(call, "timed_out")
                due.append(0)
            elif call.exited_at and now - call.exited_at >= LINGER_SECONDS:
                self._finish(call)
            else:
                due.append(self._next_check(call, now))
        if self._abandoned_pipes:
            self._drain_abandoned_pipes()
            due.append(LIVE_SECONDS)
        return min(due)

    def _next_check(self, call: Call, now: float) -> float:
        wait = call.deadline - now
        if call.exited_at:
            wait = min(wait, call.exited_at + LINGER_SECONDS - now)
        if call.output.live:
            if now >= call.live_at:
                self._send_live(call)
            wait = min(wait, LIVE_SECONDS)
        return max(wait, 0.001)

    def _continue_kill(self, call: Call, now: float) -> None:
        if now < call.check_at:
            return
        call.check_at = now + RECHECK_SECONDS
        tree = self.tree(call)
        left = tree.kill() if now >= call.kill_at else len(tree.pids())
        if left == 0 and (call.exited_at or now > call.kill_at + GRACE_SECONDS):
            self._finish(call)

    def _finish(self, call: Call) -> None:
        """Settle the outcome. What still holds the pipe open (a server begun with ``&``) lives on."""
        call.ended = True
        call.seconds = time.monotonic() - call.started
        if call.fd >= 0:
            fd = call.fd
            self._read_rest(call)
            if call.fd >= 0:
                self._poll.unregister(fd)
                del self._by_fd[fd]
                call.fd = -1
                self._abandon_pipe(fd)
        call.output.close()
        self._set_cause(call)
        self.running.pop(call.id, None)
        self._ended.append(call)
        if len(self._ended) > MAX_KEPT_OUTPUTS:
            self._ended.pop(0).output.shrink()
        self._on_end(call)

    def _abandon_pipe(self, fd: int) -> None:
        self._abandoned_pipes[fd] = None
        if len(self._abandoned_pipes) > MAX_ABANDONED_PIPES:
            oldest = next(iter(self._abandoned_pipes))
            del self._abandoned_pipes[oldest]
            os.close(oldest)

    def _read_rest(self, call: Call) -> None:
        for _ in range(64):
            if call.fd < 0 or not select.select([call.fd], [], [], 0)[0]:
                return
            self._read(call)

    def _set_cause(self, call: Call) -> None:
        if call.cause:
            return
        if call.exit_code == 153:  # SIGXFSZ: a file reached the size of the whole workspace
            call.cause = "disk_full"
        elif self._oom_kills() > call.oom_kills and (call.exit_code or len(self.running) <= 1):
            call.cause = "out_of_memory"

    def _drain_abandoned_pipes(self) -> None:
        """Throw away, slowly, what those who live on still write, so that they neither block nor die."""
        for fd in list(self._abandoned_pipes):
            try:
                data = os.read(fd, 1 << 20)
            except BlockingIOError:
                continue
            if not data:
                del self._abandoned_pipes[fd]
                os.close(fd)
