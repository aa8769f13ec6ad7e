"""Attachments: workers detach, die and compete for a sandbox, and each command still runs once."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import uuid
from pathlib import Path

import pytest

from paca.engine.workspace import (
    CallUnknown,
    Command,
    SandboxGone,
    SandboxUnavailable,
    Superseded,
)
from paca.sandbox.base import Backend, SandboxSpec
from paca.sandbox.bubblewrap import host_process
from paca.sandbox.bubblewrap.backend import Bubblewrap
from paca.sandbox.bubblewrap.sandbox_directory import short_folder_path
from paca.sandbox.runner import proc
from paca.sandbox.runner.frames import RESYNC, encode
from tests.sandbox.conftest import SandboxHandle, only_bubblewrap
from tests.support import docker_backend, runners
from tests.support.waiting import until

pytestmark = [pytest.mark.service, pytest.mark.anyio]
ATTACH_MODULES = {"docker": "backend", "bubblewrap": "attaching"}


def module_of_attach(backend: Backend) -> str:
    return f"paca.sandbox.{backend.name}.{ATTACH_MODULES[backend.name]}"


ROOT = Path(__file__).resolve().parents[2]


@contextlib.asynccontextmanager
async def worker(backend, data_dir, conversation, epoch, call_id, line):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.sandbox.worker_process",
        backend.name,
        str(data_dir),
        str(conversation),
        str(epoch),
        call_id,
        line,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def read_message(process, word) -> str:
    async with asyncio.timeout(120):
        while line := (await process.stdout.readline()).decode():
            if line.startswith(word):
                return line.removeprefix(word).strip()
    raise AssertionError(f"the worker never printed {word!r}")


@pytest.fixture
def connect_raw(backend):
    """Connects to the runner of a sandbox with raw bytes."""
    with contextlib.ExitStack() as stack:
        yield lambda handle: stack.enter_context(
            RawWorker(connection_to(backend, handle.spec.conversation_id))
        )


def connection_to(backend, conversation) -> socket.socket:
    if backend.name == "docker":
        return docker_backend.raw_connection(backend, conversation)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20)
    with short_folder_path(runners.sandbox_directory(backend, conversation).folder) as folder:
        connection.connect(f"{folder}/socket")
    return connection


async def test_a_command_outlives_a_killed_worker_and_runs_once(backend, tmp_path, open_sandbox):
    conversation = uuid.uuid4()
    until_allowed = "until [ -e go-on ]; do sleep 0.05; done"
    line = f"echo x >> once.txt; echo begin; {until_allowed}; seq 3; echo end"
    async with worker(backend, tmp_path, conversation, 1, "the-call", line) as process:
        boot_id = await read_message(process, "attached")
        assert await read_message(process, "saw") == r"'begin\n'"
        process.send_signal(signal.SIGKILL)
        await process.wait()
    handle = await open_sandbox(conversation=conversation, epoch=2)
    assert handle.sandbox.boot_id == boot_id
    pieces: list[str] = []
    following = asyncio.create_task(handle.sandbox.attach("the-call", pieces.append))
    await handle.bash("touch go-on")
    outcome = await following
    assert outcome.output == "".join(pieces) == "begin\n1\n2\n3\nend\n"
    assert await handle.bash(line, call_id="the-call") == outcome
    assert (await handle.bash("cat once.txt")).output == "x\n"


async def test_a_command_that_ended_without_a_worker_keeps_its_outcome(
    backend, tmp_path, open_sandbox
):
    conversation = uuid.uuid4()
    async with worker(
        backend, tmp_path, conversation, 1, "the-call", "echo begin; sleep 0.5; echo end; exit 7"
    ) as process:
        await read_message(process, "saw")
    await until(lambda: not runners.commands(backend, conversation))
    handle = await open_sandbox(conversation=conversation, epoch=2)
    outcome = await handle.sandbox.attach("the-call")
    assert (outcome.exit_code, outcome.output) == (7, "begin\nend\n")


async def test_a_timeout_ends_a_command_without_a_worker(backend, open_sandbox):
    first = await open_sandbox()
    running = await first.begin("sleep 60", seconds=1, call_id="slow")
    await first.sandbox.detach()
    with pytest.raises(SandboxGone):
        await running
    await until(lambda: not runners.commands(backend, first.spec.conversation_id))
    second = await open_sandbox(conversation=first.spec.conversation_id, epoch=2)
    assert (await second.sandbox.attach("slow")).cause == "timed_out"


async def test_the_call_table_does_not_depend_on_files_of_the_agent(open_sandbox):
    first = await open_sandbox()
    outcome = await first.bash("echo x >> ~/once.txt; seq 100000", call_id="the-call")
    await first.bash("rm -rf /workspace/.paca /workspace/* /tmp/* /workspace/.[a-z]*")
    await first.sandbox.detach()
    second = await open_sandbox(conversation=first.spec.conversation_id)
    assert await second.sandbox.attach("the-call") == outcome
    assert await second.bash("echo x >> ~/once.txt; seq 100000", call_id="the-call") == outcome
    assert (await second.bash("cat ~/once.txt")).output == "x\n"


async def test_a_newer_attachment_supersedes_the_older_one(open_sandbox):
    first = await open_sandbox()
    line = "until [ -e /tmp/go-on ]; do sleep 0.05; done; echo done"
    running = await first.begin(line, call_id="shared")
    second = await open_sandbox(conversation=first.spec.conversation_id)
    with pytest.raises(Superseded):
        await running
    with pytest.raises(Superseded):
        await first.bash("echo x > stolen.txt")
    await second.bash("touch /tmp/go-on")
    assert (await second.sandbox.attach("shared")).output == "begun\ndone\n"
    assert (await second.bash("ls")).output == ""


async def test_a_lower_epoch_is_refused_and_the_attached_worker_keeps_the_sandbox(open_sandbox):
    current = await open_sandbox(epoch=5)
    with pytest.raises(Superseded):
        await open_sandbox(conversation=current.spec.conversation_id, epoch=4)
    assert (await current.bash("echo mine")).output == "mine\n"
    later = await open_sandbox(conversation=current.spec.conversation_id, epoch=6)
    assert later.sandbox.boot_id == current.sandbox.boot_id


@only_bubblewrap  # records the epoch; with Docker a lost lease ends the run before it opens a sandbox
async def test_a_lower_epoch_is_refused_though_the_runner_is_gone(open_sandbox):
    current = await open_sandbox(epoch=5)
    await current.sandbox.end(keep_files=True)
    with pytest.raises(Superseded):
        await open_sandbox(conversation=current.spec.conversation_id, epoch=4)


async def wait_until_gone(pid: int) -> None:
    await until(lambda: proc.start_time(pid) is None)


class RawWorker:
    """Sends single bytes to a runner, as a broken or dying worker does."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._unread = b""

    def __enter__(self) -> "RawWorker":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def next_answer(self, name: str = "aa") -> bytes:
        """The next answer to this nonce: a container's stream also contains the answers to other workers."""
        while True:
            line, end, rest = self._unread.partition(b"\n")
            if end:
                self._unread = rest
                if f" {name} ".encode() in line and b'"re"' in line:
                    return line
                continue
            try:
                self._unread += self.socket.recv(65_536)
            except TimeoutError:
                return b""


async def test_half_a_frame_of_a_killed_worker_is_never_completed(open_sandbox, connect_raw):
    handle = await open_sandbox()
    dying = connect_raw(handle)
    dying.send(encode("aa", {"op": "attach", "id": 1, "epoch": 1}))
    assert b'"ok"' in dying.next_answer()
    request = {
        "op": "run",
        "id": 2,
        "call_id": "half",
        "shell": "touch half.txt",
        "cwd": ".",
        "timeout": 5,
        "env": {},
    }
    dying.send(encode("aa", request)[:-20])
    dying.socket.close()
    again = await open_sandbox(conversation=handle.spec.conversation_id)
    assert (await again.bash("ls")).output == ""
    with pytest.raises(CallUnknown):
        await again.sandbox.attach("half")


async def test_half_a_frame_on_the_same_stream_ends_at_the_next_attachment(
    open_sandbox, connect_raw
):
    handle = await open_sandbox()
    connection = connect_raw(handle)
    request = {
        "op": "run",
        "id": 2,
        "call_id": "half",
        "shell": "touch half.txt",
        "cwd": ".",
        "timeout": 5,
        "env": {},
    }
    connection.send(encode("aa", {"op": "attach", "id": 1, "epoch": 1}))
    connection.send(encode("aa", request)[:-1])
    connection.send(RESYNC + encode("bb", {"op": "attach", "id": 1, "epoch": 1}))
    connection.send(encode("bb", {**request, "call_id": "whole", "shell": "touch whole.txt"}))
    assert b'"boot_id"' in connection.next_answer("bb")
    assert b'"ok"' in connection.next_answer("bb"), "the command was started"
    again = await open_sandbox(conversation=handle.spec.conversation_id)
    assert (await again.sandbox.attach("whole")).exit_code == 0
    assert (await again.bash("ls")).output == "whole.txt\n"


async def test_frames_without_an_attachment_or_with_another_nonce_are_ignored(
    open_sandbox, connect_raw
):
    handle = await open_sandbox()
    connection = connect_raw(handle)
    request = {
        "op": "run",
        "id": 2,
        "call_id": "x",
        "shell": "touch x.txt",
        "cwd": ".",
        "timeout": 5,
        "env": {},
    }
    connection.send(b"garbage\n\xff\xfe\n" + encode("aa", request))
    connection.send(encode("aa", {"op": "attach", "id": 1, "epoch": "one"}) + encode("aa", request))
    assert b"superseded" in connection.next_answer()
    assert (await handle.bash("ls")).output == ""
    connection.send(encode("aa", {"op": "attach", "id": 1, "epoch": 1}))
    connection.send(encode("bb", request))
    damaged = bytearray(encode("aa", request))
    damaged[-8] ^= 1
    connection.send(bytes(damaged))
    connection.send(encode("aa", {"op": "ping", "id": 3}))
    while b'"re":3' not in (answer := connection.next_answer()):
        assert answer, "the runner has read everything that came before the ping"
    again = await open_sandbox(conversation=handle.spec.conversation_id)
    with pytest.raises(CallUnknown):
        await again.sandbox.attach("x")
    assert (await again.bash("ls")).output == ""


async def test_a_malformed_request_is_answered_with_an_error(open_sandbox, connect_raw):
    handle = await open_sandbox()
    connection = connect_raw(handle)
    connection.send(encode("aa", {"op": "attach", "id": 1, "epoch": 1}))
    connection.next_answer()
    requests = (
        {"op": "no such thing"},
        {"op": ["run"]},
        {"op": "run"},
        {"op": "run", "call_id": 7, "shell": "true", "cwd": ".", "timeout": "soon", "env": {}},
        {"op": "run", "call_id": "z", "shell": "true", "cwd": 3, "timeout": 5, "env": []},
        {"op": "read", "path": None, "offset": 0, "limit": 1},
        {"op": "read", "path": "x", "offset": -5, "limit": 10**30},
        {"op": "list", "path": ".", "depth": 1, "limit": "few"},
        {"op": "write", "call_id": "w", "path": "x", "content": "no base64!", "expected": None},
        {"op": "attach", "epoch": None},
    )
    for number, request in enumerate(requests, 2):
        connection.send(encode("aa", {"id": number, **request}))
        assert b'"error"' in connection.next_answer()
    again = await open_sandbox(conversation=handle.spec.conversation_id)
    assert again.sandbox.boot_id == handle.sandbox.boot_id


async def test_helpers_that_write_long_files_at_once_disturb_each_other_and_their_conversation_not(
    open_sandbox,
):
    """Docker mixes the parts of what several workers write to one container."""
    handle = await open_sandbox()
    conversation = handle.spec.conversation_id
    sessions = ["", *(uuid.uuid4().hex for _ in range(3))]
    handles = [await open_sandbox(conversation=conversation, session=name) for name in sessions]

    async def write(handle, name: str) -> None:
        for number in range(3):
            content = f"{name}{number}".encode() * 30_000
            path = f"{name}-{number}.txt"
            await handle.sandbox.write(uuid.uuid4().hex, path, content)
            assert await handle.sandbox.read(path) == content

    await asyncio.gather(*(write(each, f"w{n}") for n, each in enumerate(handles)))
    listed = (await handles[0].bash("cat *.txt | wc -c; ls | wc -l")).output.split()
    assert listed == [str(4 * 3 * 3 * 30_000), "12"]
    assert {each.sandbox.boot_id for each in handles} == {handle.sandbox.boot_id}


async def test_a_dead_runner_is_noticed_and_replaced(backend, open_sandbox):
    handle = await open_sandbox()
    await handle.write("kept.txt", "kept")
    running = await handle.begin("sleep 60", call_id="lost")
    os.kill(runners.pid(backend, handle.spec.conversation_id), signal.SIGKILL)
    with pytest.raises(SandboxGone):
        await running
    with pytest.raises(SandboxGone):
        await handle.bash("echo x")
    again = await open_sandbox(conversation=handle.spec.conversation_id, epoch=2)
    assert again.sandbox.boot_id != handle.sandbox.boot_id
    assert (await again.bash("cat kept.txt")).output == "kept"
    with pytest.raises(CallUnknown):
        await again.sandbox.attach("lost")


async def test_a_runner_that_does_not_answer_is_replaced(backend, open_sandbox, monkeypatch):
    handle = await open_sandbox()
    await handle.sandbox.detach()
    pid = runners.pid(backend, handle.spec.conversation_id)
    with runners.silenced(backend, handle.spec.conversation_id):
        monkeypatch.setattr(f"{module_of_attach(backend)}.ATTACH_SECONDS", 1)
        starting = asyncio.create_task(
            open_sandbox(conversation=handle.spec.conversation_id, epoch=2)
        )
        await wait_until_gone(pid)
        monkeypatch.undo()
        assert (await (await starting).bash("echo new")).output == "new\n"


async def test_a_silent_sandbox_is_not_replaced_by_a_superseded_worker(
    backend, open_sandbox, monkeypatch
):
    """Another worker may have it, and be talking to it at this moment."""
    handle = await open_sandbox()
    await handle.sandbox.detach()

    async def refuse() -> bool:
        return False

    monkeypatch.setattr(f"{module_of_attach(backend)}.ATTACH_SECONDS", 1)
    with runners.silenced(backend, handle.spec.conversation_id), pytest.raises(Superseded):
        await backend.open(handle.spec, epoch=2, may_replace=refuse)
    monkeypatch.undo()
    again = await open_sandbox(conversation=handle.spec.conversation_id, epoch=2)
    assert again.sandbox.boot_id == handle.sandbox.boot_id


async def test_many_workers_opening_at_once_get_one_runner(backend, open_sandbox):
    conversation = uuid.uuid4()
    opened = await asyncio.gather(
        *(open_sandbox(conversation=conversation) for _ in range(5)), return_exceptions=True
    )
    # With the same epoch for all, the last one to attach keeps it; leases never share an epoch.
    attached = [each for each in opened if not isinstance(each, Superseded)]
    assert len(attached) == 5 or backend.name == "docker"
    assert len({handle.sandbox.boot_id for handle in attached}) == 1


async def end_by_itself(backend: Backend, conversation: uuid.UUID) -> None:
    """Leave another sandbox without a worker and wait for its end: its idle time has passed."""
    sandbox = await backend.open(SandboxSpec(conversation), epoch=1)
    pid = runners.pid(backend, conversation)
    await sandbox.detach()
    await wait_until_gone(pid)
    await backend.remove(conversation)


async def test_a_sandbox_without_a_worker_ends_by_itself(tmp_path, another_backend):
    backend = another_backend(tmp_path, idle_seconds=1)
    conversation = uuid.uuid4()
    sandbox = await backend.open(SandboxSpec(conversation), epoch=1)
    await sandbox.run(Command("server", shell="sleep 1234 & echo begun"))
    pid = runners.pid(backend, conversation)
    await end_by_itself(backend, uuid.uuid4())
    assert proc.start_time(pid) is not None, "it stays while a worker is attached"
    await sandbox.detach()
    await wait_until_gone(pid)
    again = await backend.open(SandboxSpec(conversation), epoch=1)
    await again.end(keep_files=False)


async def test_a_running_command_keeps_a_sandbox_without_a_worker_alive(tmp_path, another_backend):
    backend = another_backend(tmp_path, idle_seconds=0.5)
    spec = SandboxSpec(uuid.uuid4())
    sandbox = await backend.open(spec, epoch=1)
    line = "until [ -e go-on ]; do sleep 0.05; done; echo done"
    waiting = await SandboxHandle(sandbox, spec).begin(line, call_id="slow")
    await sandbox.detach()
    with pytest.raises(SandboxGone):
        await waiting
    await end_by_itself(backend, uuid.uuid4())
    again = await backend.open(spec, epoch=1)
    assert again.boot_id == sandbox.boot_id
    await again.run(Command("end", shell="touch go-on"))
    assert (await again.attach("slow")).output == "begun\ndone\n"
    await again.end(keep_files=False)


async def test_a_sweep_ends_only_sandboxes_that_are_not_kept(
    backend, tmp_path, open_sandbox, another_backend
):
    kept, unwanted = await open_sandbox(), await open_sandbox()
    await unwanted.write("file.txt", "stays")
    elsewhere = another_backend(tmp_path / "elsewhere")
    other = await elsewhere.open(SandboxSpec(uuid.uuid4()), epoch=1)
    assert await backend.sweep({kept.spec.conversation_id}) == [unwanted.spec.conversation_id]
    assert (await kept.bash("echo alive")).output == "alive\n"
    assert (await other.run(Command("a", shell="echo alive"))).output == "alive\n"
    with pytest.raises(SandboxGone):
        await unwanted.bash("echo alive")
    assert await backend.sweep({kept.spec.conversation_id}) == []
    again = await open_sandbox(conversation=unwanted.spec.conversation_id)
    assert (await again.bash("cat file.txt")).output == "stays"
    await other.end(keep_files=False)


@only_bubblewrap
async def test_destroying_a_sandbox_leaves_nothing_on_the_host(backend, tmp_path, open_sandbox):
    handle = await open_sandbox()
    directory = runners.sandbox_directory(backend, handle.spec.conversation_id)
    await handle.bash("mkdir -p a/b; touch a/b/c; chmod 0 a/b; ln -s / root; setsid sleep 1234 &")
    pid = host_process.read_record(directory.folder).pid
    assert any(folder.exists() for folder in directory.control_group.folders) == (os.geteuid() == 0)
    await handle.sandbox.end(keep_files=False)
    assert proc.start_time(pid) is None
    assert not directory.workspace.exists()
    assert not directory.folder.exists()
    assert not any(folder.exists() for folder in directory.control_group.folders)


async def test_a_data_folder_with_a_very_long_path_works(tmp_path):
    deep = tmp_path.joinpath(*("a-rather-long-name-of-a-folder" for _ in range(6)))
    backend = Bubblewrap(deep, "tests", idle_seconds=30)
    sandbox = await backend.open(SandboxSpec(uuid.uuid4()), epoch=1)
    assert (await sandbox.run(Command("a", shell="echo fine"))).output == "fine\n"
    await sandbox.end(keep_files=False)


async def test_a_data_folder_that_cannot_be_written_makes_sandboxes_unavailable(tmp_path):
    (tmp_path / "file").write_text("")
    backend = Bubblewrap(tmp_path / "file", "tests")
    with pytest.raises(SandboxUnavailable, match="could not be started"):
        await backend.open(SandboxSpec(uuid.uuid4()), epoch=1)
