"""The call table: the commands that this runner has started, with their state and outcome."""

from __future__ import annotations

import errno
import os
import select
import time

from paca.sandbox.runner.call import GRACE_SECONDS, Call
from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.output import CallOutput
from paca.sandbox.runner.ownership import ProcessTree
from paca.sandbox.runner.processes import boot_ticks
from paca.sandbox.runner.signals import SIGTERM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from paca.sandbox.runner.pipe_output import PipeOutput

LINGER_SECONDS = 0.1  # for output that arrives just after the command's end
RECHECK_SECONDS = 0.02
EMPTY_CHECKS = 3
LIVE_SECONDS = 0.05
MAX_KEPT_OUTPUTS = 64
MAX_RUNNING = 32
MAX_ABANDONED_PIPES = 128
NO_SPACE = os.strerror(errno.ENOSPC)
# Errors that no command causes: no process, descriptor or memory is left.
EXHAUSTED = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)


class CallTable:
    """Starts, follows and ends calls.

    ``on_live`` is called when a call has new output to show, ``on_read`` when its output was read, ``on_end``
    when it has ended. ``oom_kills`` gives how
    many processes the kernel has ended for lack of memory. ``disk_is_full``: whether nothing more can be
    stored in the workspace.
    """

    def __init__(
        self,
        *,
        poll: select.epoll,
        on_live: Callable[[Call], None],
        on_read: Callable[[Call], None],
        on_end: Callable[[Call], None],
        oom_kills: Callable[[], int],
        disk_is_full: Callable[[], bool],
    ) -> None:
        self._poll = poll
        self._on_live = on_live
        self._on_read = on_read
        self._on_end = on_end
        self._oom_kills = oom_kills
        self._disk_is_full = disk_is_full
        self.all: dict[str, Call] = {}
        self.running: dict[str, Call] = {}
        self._by_fd: dict[int, Call] = {}
        self._abandoned_pipes: dict[int, None] = {}
        self._ended: list[Call] = []

    def start(
        self,
        call_id: str,
        timeout: float,
        spawn: Callable[[int], int],
        output: CallOutput | PipeOutput,
    ) -> Call:
        """Start a call and enter it in the table. ``spawn`` gets the descriptor for the output, gives the pid.

        Raises ``RequestError`` if too many commands run, and ``OSError`` if the runner lacks what it needs
        to start any command.
        """
        if len(self.running) >= MAX_RUNNING:
            raise RequestError(
                "workspace_error", f"{MAX_RUNNING} commands run already; wait for one to end."
            )
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        call = Call(call_id, output, timeout=timeout)
        call.oom_kills = self._oom_kills()
        try:
            call.pid = spawn(write_end)
        except OSError as error:
            os.close(read_end)
            if error.errno in EXHAUSTED:
                raise
            return self._record_failed_start(call, error)
        finally:
            os.close(write_end)
        call.fd = read_end
        self.all[call_id] = self.running[call_id] = self._by_fd[read_end] = call
        self._poll.register(read_end, select.EPOLLIN)
        return call

    def _record_failed_start(self, call: Call, error: OSError) -> Call:
        missing = isinstance(error, FileNotFoundError)
        call.exit_code = 127 if missing else 126
        call.output.feed(f"cannot start the command: {error.strerror}\n".encode())
        self.all[call.id] = call
        self._finish(call)
        return call

    def owns(self, fd: int) -> bool:
        """Whether ``fd`` is the output pipe of a call."""
        return fd in self._by_fd

    def read_output(self, fd: int) -> None:
        """Read what a command wrote."""
        call = self._by_fd[fd]
        if self._read(call):
            self._on_read(call)
            if call.output.live and time.monotonic() >= call.live_at:
                self._send_live(call)
        elif call.exited_at and not call.kill_at:
            self._finish(call)

    def _read(self, call: Call) -> bool:
        """Read once; False at the end of the stream, which is then closed."""
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
        """Collect every child that has ended. No other code waits for children."""
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
        """End the call's whole process tree with TERM, then KILL; with ``at_once`` without TERM."""
        if call.ended or call.kill_at:
            return
        call.cause = cause
        call.kill_at = time.monotonic() + (0 if at_once else GRACE_SECONDS)
        tree = self.tree(call)
        call.killed = [entry for entry in tree.describe() if entry[0] != call.pid]
        if not at_once:
            tree.signal(SIGTERM)
        call.check_at = 0.0

    def tree(self, call: Call) -> ProcessTree:
        """The processes of a call."""
        return ProcessTree(call, self.all.values)

    def tick(self, now: float) -> float:
        """Do what is due. Gives the seconds until something is due again."""
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
        call.empty_checks = 0 if left else call.empty_checks + 1
        if left or not (call.exited_at or now > call.kill_at + GRACE_SECONDS):
            return
        # A list of processes takes time: one that forks and ends meanwhile may hide its child from it.
        if call.empty_checks >= EMPTY_CHECKS or not _has_children():
            self._finish(call)

    def _finish(self, call: Call) -> None:
        """Settle the outcome. Processes that still hold the pipe open (a server started with ``&``) continue."""
        call.ended = True
        call.ended_ticks = boot_ticks()
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
        tree = self.tree(call)
        call.left = frozenset(tree.pids()) if call.pid and _has_children() else frozenset()
        call.living = tree.describe() if call.left else []
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
        if (
            call.exit_code == 153
            or call.exit_code
            and NO_SPACE in call.output.text()
            and self._disk_is_full()
        ):  # SIGXFSZ: a file has reached the size limit of the workspace
            call.cause = "disk_full"
        elif self._oom_kills() > call.oom_kills and (call.exit_code or len(self.running) <= 1):
            call.cause = "out_of_memory"

    def _drain_abandoned_pipes(self) -> None:
        """Discard what processes of ended calls still write, so that they neither block nor get SIGPIPE."""
        for fd in list(self._abandoned_pipes):
            try:
                data = os.read(fd, 1 << 20)
            except BlockingIOError:
                continue
            if not data:
                del self._abandoned_pipes[fd]
                os.close(fd)


def _has_children() -> bool:
    """Whether the runner has any child, running or ended: an orphan becomes one."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
