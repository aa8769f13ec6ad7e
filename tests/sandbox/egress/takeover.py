"""What somebody would try who runs code in the gate process: to reach sockets in files, and to give itself away.

The standard library only. ``run`` tries all, with one end of a connection whose other end is in a sandbox.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

SENT = 4  # descriptors of new sockets that the other end sends, each with one byte
COLUMN = 0 if platform.machine() == "x86_64" else 1
SECCOMP, PTRACE, IO_URING_SETUP, PIDFD_GETFD = (317, 277), (101, 117), (425, 425), (438, 438)
NEW_LISTENER, ATTACH, DETACH = 8, 16, 17
PROGRAM = Path("/bin/true").resolve().read_bytes()
libc = ctypes.CDLL(None, use_errno=True)


class Takeover:
    """``client`` leads to the sandbox, ``channel`` to the opener, or to nobody.

    ``files``: listening sockets, for streams and for datagrams; ``abstract``: the name of one without a file;
    ``process``: another one of the same user.
    """

    def __init__(self, client: socket.socket, channel: int, targets: dict[str, Any]) -> None:
        self.client, self.channel = client, channel
        self.stream, self.datagram = targets["files"]
        self.abstract, self.process = "\0" + targets["abstract"], targets["process"]

    def connects_to_a_file(self) -> None:
        socket.socket(socket.AF_UNIX).connect(self.stream)

    def connects_to_an_abstract_socket(self) -> None:
        socket.socket(socket.AF_UNIX).connect(self.abstract)

    def connects_in_a_thread(self) -> None:
        failed: list[BaseException] = []

        def run() -> None:
            try:
                self.connects_to_a_file()
            except OSError as error:
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if failed:
            raise failed[0]

    def connects_in_a_child(self) -> None:
        _in_a_child(self.connects_to_a_file)

    def sends_from_one_of_a_pair(self) -> None:
        socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", self.datagram)

    def connects_one_of_a_pair(self) -> None:
        socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].connect(self.datagram)

    def connects_a_socket_of_the_sandbox(self) -> None:
        _received(self.client).connect(self.stream)

    def connects_its_own_connections(self) -> None:
        for number in range(3, 64):
            with suppress(OSError), socket.socket(fileno=os.dup(number)) as own:
                if own.family == socket.AF_UNIX and number != self.channel:
                    own.connect(self.stream)
                    return
        raise PermissionError

    def asks_for_descriptors_in_the_place_of_the_channel(self) -> None:
        os.dup2(self.client.fileno(), self.channel)
        self._receive_at_the_channel()

    def reuses_the_number_of_the_channel(self) -> None:
        os.close(self.channel)
        while os.dup(self.client.fileno()) < self.channel:
            pass
        self._receive_at_the_channel()

    def closes_the_channel_with_others(self) -> None:
        _checked(libc.close_range(self.channel, self.channel, 0))
        while os.dup(self.client.fileno()) < self.channel:
            pass
        self._receive_at_the_channel()

    def _receive_at_the_channel(self) -> None:
        with socket.socket(fileno=os.dup(self.channel)) as there:
            _received(there).connect(self.stream)

    def hands_the_sandbox_a_folder(self) -> None:
        socket.send_fds(self.client, [b"x"], [os.open("/", os.O_PATH)])

    def sees_interfaces(self) -> None:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)

    def makes_a_ring(self) -> None:
        _checked(libc.syscall(IO_URING_SETUP[COLUMN], 8, ctypes.create_string_buffer(256)))

    def answers_calls_itself(self) -> None:
        """A filter with a listener could put descriptors into a process, at any number."""

        def install() -> None:
            allow = ctypes.create_string_buffer(b"\x06\0\0\0\0\0\xff\x7f", 8)
            program = (ctypes.c_uint64 * 2)(1, ctypes.addressof(allow))
            libc.prctl(38, 1, 0, 0, 0)
            _checked(libc.syscall(SECCOMP[COLUMN], 1, NEW_LISTENER, program))

        _in_a_child(install)

    def traces_a_process(self) -> None:
        _checked(libc.syscall(PTRACE[COLUMN], ATTACH, self.process, None, None))
        os.waitpid(self.process, 0x40000000)  # __WALL
        libc.syscall(PTRACE[COLUMN], DETACH, self.process, None, None)

    def takes_descriptors_of_a_process(self) -> None:
        handle = os.pidfd_open(self.process)
        _checked(libc.syscall(PIDFD_GETFD[COLUMN], handle, 0, 0))

    def signals_a_process(self) -> None:
        os.kill(self.process, 0)

    def runs_a_program_from_memory(self) -> None:
        program = os.memfd_create("program")
        os.write(program, PROGRAM)
        _in_a_child(lambda: os.execve(program, ["true"], {}))


ATTEMPTS: list[Callable[[Takeover], None]] = [
    made for name, made in vars(Takeover).items() if not name.startswith("_")
]


def run(client: socket.socket, channel: int, targets: dict[str, Any]) -> dict[str, str]:
    """By attempt the error that has stopped it; empty if nothing has."""
    client.settimeout(10)
    world, found = Takeover(client, channel, targets), {}
    for attempt in ATTEMPTS:
        try:
            attempt(world)
            found[attempt.__name__] = ""
        except (OSError, AssertionError) as error:
            found[attempt.__name__] = repr(error)
    return found


def _received(connection: socket.socket) -> socket.socket:
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    assert descriptors
    return socket.socket(fileno=descriptors[0])


def _in_a_child(act: Callable[[], object]) -> None:
    """Raises ``OSError`` if the act does in a child."""
    if not (child := os.fork()):
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise PermissionError("in a child")


def _checked(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as connected:
        print(json.dumps(run(connected, int(sys.argv[2]), json.loads(sys.argv[3]))))
