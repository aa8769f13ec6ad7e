"""Processes that talk with the worker through their standard input and output, such as MCP servers.

They are calls of the call table. Each ends with the attachment of the worker that has opened it, so that none is left
when the worker is done or has died.
"""

from __future__ import annotations

import os
import select
from binascii import b2a_base64

from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.pipe_output import PipeOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from paca.sandbox.runner.call import Call

    Reply = Callable[[Any], None]

READ_BYTES = 1 << 16
MAX_ERROR_CHARACTERS = 2_000
MAX_OPEN = 16


class Pipe:
    """One process with the descriptors of its standard input and error. A descriptor is -1 once it is closed."""

    def __init__(self, call_id: str, output: PipeOutput, stdin: int, stderr: int) -> None:
        self.call_id = call_id
        self.output = output
        self.stdin = stdin
        self.stderr = stderr
        self.call: Call | None = None
        self.unwritten = bytearray()
        self.on_written: list[Reply] = []
        self.watches_stdin = False
        self.awaits_worker = False  # it has bytes that it is about to take


class Pipes:
    """The open pipes. ``send_update`` sends the worker an update of a call."""

    def __init__(
        self, poll: select.epoll, send_update: Callable[[dict[str, Any], bool], bool]
    ) -> None:
        self._poll = poll
        self._send_update = send_update
        self.open: dict[str, Pipe] = {}
        self._by_fd: dict[int, Pipe] = {}

    def start(self, call_id: str, start: Callable[[PipeOutput, int, int], Call]) -> Call:
        """Start a process. ``start`` gets the output, and the descriptors of standard input and error.

        Raises ``RequestError`` if too many are open, and what ``start`` raises.
        """
        if len(self.open) >= MAX_OPEN:
            raise RequestError("workspace_error", f"{MAX_OPEN} servers run already in the sandbox.")
        output = PipeOutput()
        in_read, in_write = os.pipe()
        try:
            err_read, err_write = os.pipe()
        except OSError:
            os.close(in_read)
            os.close(in_write)
            raise
        pipe = Pipe(call_id, output, in_write, err_read)
        try:
            pipe.call = start(output, in_read, err_write)
        except BaseException:
            os.close(in_write)
            os.close(err_read)
            raise
        finally:
            os.close(in_read)
            os.close(err_write)
        os.set_blocking(in_write, False)
        os.set_blocking(err_read, False)
        if pipe.call.ended:  # it could not be started
            os.close(in_write)
            os.close(err_read)
            return pipe.call
        self.open[call_id] = self._by_fd[in_write] = self._by_fd[err_read] = pipe
        self._poll.register(err_read, select.EPOLLIN)
        return pipe.call

    def owns(self, fd: int) -> bool:
        """Whether ``fd`` is the standard input or error of a pipe."""
        return fd in self._by_fd

    def handle(self, fd: int) -> None:
        """Do what a descriptor is ready for."""
        pipe = self._by_fd[fd]
        if fd == pipe.stdin:
            self._write(pipe)
        else:
            self._read_errors(pipe)

    # --- to the process -----------------------------------------------------------------------------

    def send(self, call_id: str, data: bytes, reply: Reply) -> None:
        """Write to the process, and reply when all of it is written. Raises ``RequestError``."""
        pipe = self.open.get(call_id)
        if pipe is None or pipe.stdin < 0:
            raise RequestError("call_unknown")
        pipe.unwritten += data
        pipe.on_written.append(reply)
        self._write(pipe)

    def _write(self, pipe: Pipe) -> None:
        try:
            while pipe.unwritten:
                del pipe.unwritten[: os.write(pipe.stdin, pipe.unwritten[: 1 << 16])]
        except BlockingIOError:
            self._watch_stdin(pipe, watches=True)
            return
        except OSError:  # it has closed its input; its end tells the worker
            pipe.unwritten.clear()
        self._watch_stdin(pipe, watches=False)
        replies, pipe.on_written = pipe.on_written, []
        for reply in replies:
            reply(None)

    def _watch_stdin(self, pipe: Pipe, *, watches: bool) -> None:
        if watches and not pipe.watches_stdin:
            self._poll.register(pipe.stdin, select.EPOLLOUT)
        elif pipe.watches_stdin and not watches:
            self._poll.unregister(pipe.stdin)
        pipe.watches_stdin = watches

    # --- from the process ---------------------------------------------------------------------------

    def after_read(self, call: Call) -> None:
        """Send what was read, and read no more until the worker has taken it."""
        pipe = self.open.get(call.id)
        if pipe is None or not pipe.output.unsent or pipe.awaits_worker:
            return
        pipe.awaits_worker = True
        if call.fd >= 0:
            self._poll.modify(call.fd, 0)
        self._send_unsent(pipe)

    def taken(self, call_id: str) -> None:
        """The worker has taken what was sent: read on."""
        pipe = self.open.get(call_id)
        if pipe is None or pipe.call is None:
            return
        pipe.awaits_worker = False
        if pipe.call.fd >= 0:
            self._poll.modify(pipe.call.fd, select.EPOLLIN)

    def _send_unsent(self, pipe: Pipe) -> None:
        data = b2a_base64(bytes(pipe.output.unsent), newline=False).decode("ascii")
        pipe.output.unsent.clear()
        self._send_update({"call": pipe.call_id, "data": data}, False)

    def _read_errors(self, pipe: Pipe) -> None:
        try:
            data = os.read(pipe.stderr, READ_BYTES)
        except BlockingIOError:
            return
        if data:
            text = (pipe.output.errors + data.decode("utf-8", "replace")).replace("\0", "␀")
            pipe.output.errors = text[-MAX_ERROR_CHARACTERS:]
            return
        self._close_errors(pipe)

    def _close_errors(self, pipe: Pipe) -> None:
        if pipe.stderr >= 0:
            self._poll.unregister(pipe.stderr)
            del self._by_fd[pipe.stderr]
            os.close(pipe.stderr)
            pipe.stderr = -1

    # --- the end ------------------------------------------------------------------------------------

    def ended(self, call: Call) -> None:
        """Send the rest of the output, and close the descriptors. The outcome of the call follows."""
        pipe = self.open.pop(call.id, None)
        if pipe is None:
            return
        for _ in range(64):  # a process that it has left may write for ever
            if pipe.stderr < 0 or not select.select([pipe.stderr], [], [], 0)[0]:
                break
            self._read_errors(pipe)
        if pipe.output.unsent:
            self._send_unsent(pipe)
        self._close_errors(pipe)
        pipe.unwritten.clear()
        self._write(pipe)  # answers those who wait
        del self._by_fd[pipe.stdin]
        os.close(pipe.stdin)
        pipe.stdin = -1
