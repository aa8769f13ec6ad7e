"""What a test puts on the host for attempts to find: files, sockets, a process, shared memory."""

import ctypes
import os
import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def marks(folder: Path) -> Iterator[dict[str, Any]]:
    """Paths, names and numbers of what is there now, as JSON."""
    mark = f"escape-{uuid.uuid4().hex[:12]}"
    libc = ctypes.CDLL(None)
    key = int(mark[-7:], 16)
    with ExitStack() as stack:
        file = folder / "host-file"
        file.write_text("canary of the host")
        gate = folder / "gate"
        gate.mkdir()
        for address in (str(folder / "host.sock"), f"\0{mark}", str(gate / "gate.sock")):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen()
        (gate / "gate.sock").chmod(0o777)
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        process = subprocess.Popen(["sleep", "600"], env={"MARK": mark, "PATH": os.environ["PATH"]})
        stack.callback(process.wait)
        stack.callback(process.kill)
        named = subprocess.Popen(["sh", "-c", "sleep 600; :", mark])
        stack.callback(named.wait)
        stack.callback(named.kill)
        shared = Path("/dev/shm", mark)
        shared.write_text("canary of the host")
        stack.callback(shared.unlink)
        segment = libc.shmget(key, 4096, 0o1600)
        stack.callback(libc.shmctl, segment, 0, None)
        yield {
            "mark": mark,
            "pid": process.pid,
            "file": str(file),
            "folder": str(folder),
            "socket": str(folder / "host.sock"),
            "port": server.getsockname()[1],
            "shared_memory": key,
            "gate": str(gate),
            "workspace": str(folder),
        }
