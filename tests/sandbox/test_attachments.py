"""Workers come and go, die in the middle, fight for a sandbox; each command still runs once."""

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
from paca.sandbox.base import SandboxSpec
from paca.sandbox.bubblewrap import host_process
from paca.sandbox.bubblewrap.backend import Bubblewrap
from paca.sandbox.bubblewrap.sandbox_directory import short_folder_path
from paca.sandbox.runner import proc
from paca.sandbox.runner.frames import RESYNC, encode
from tests.sandbox.conftest import only_bubblewrap
from tests.support import docker_backend, runners

pytestmark = [pytest.mark.service, pytest.mark.anyio]
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


async def said(process, word) -> str:
    async with asyncio.timeout(20):
        while line := (await process.stdout.readline()).decode():
            if line.startswith(word):
                return line.removeprefix(word).strip()
    raise AssertionError(f"the worker never said {word!r}")


@pytest.fixture
def raw(backend):
    """Connects by hand to the runner of a sandbox."""
    with contextlib.ExitStack() as stack:
        yield lambda hands: stack.enter_context(
            RawWorker(connection_to(backend, hands.spec.conversation_id))
        )


def connection_to(backend, conversation) -> socket.socket:
    if backend.name == "docker":
        return docker_backend.raw_connection(backend, conversation)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20)
    with short_folder_path(runners.home(backend, conversation).folder) as folder:
        connection.connect(f"{folder}/socket")
    return connection


async def test_a_command_outlives_a_killed_worker_and_runs_once(backend, tmp_path, open_sandbox):
    conversation = uuid.uuid4()
    line = "echo x >> once.txt; echo begin; sleep 2; seq 3; echo end"
    async with worker(backend, tmp_path, conversation, 1, "the-call", line) as process:
        boot_id = await said(process, "attached")
        assert await said(process, "saw") == r"'begin\n'"
        process.send_signal(signal.SIGKILL)
        await process.wait()
    hands = await open_sandbox(conversation=conversation, epoch=2)
    assert hands.sandbox.boot_id == boot_id
    pieces: list[str] = []
    outcome = await hands.sandbox.attach("the-call", pieces.append)
    assert outcome.output == "".join(pieces) == "begin\n1\n2\n3\nend\n"
    assert outcome.seconds >= 2
    assert await hands.bash(line, call_id="the-call") == outcome
    assert (await hands.bash("cat once.txt")).output == "x\n"


async def test_a_command_that_ended_while_nobody_watched_is_still_known(
    backend, tmp_path, open_sandbox
):
    conversation = uuid.uuid4()
    async with worker(
        backend, tmp_path, conversation, 1, "the-call", "echo begin; sleep 0.5; echo end; exit 7"
    ) as process:
        await said(process, "saw")
    await asyncio.sleep(1)
    hands = await open_sandbox(conversation=conversation, epoch=2)
    outcome = await hands.sandbox.attach("the-call")
    assert (outcome.exit_code, outcome.output) == (7, "begin\nend\n")


async def test_a_timeout_holds_though_nobody_watches(tmp_path, open_sandbox):
    first = await open_sandbox()
    running = asyncio.create_task(first.bash("sleep 60", seconds=1, call_id="slow"))
    await asyncio.sleep(0.2)
    await first.sandbox.detach()
    with pytest.raises(SandboxGone):
        await running
    await asyncio.sleep(2)
    second = await open_sandbox(conversation=first.spec.conversation_id, epoch=2)
    assert (await second.sandbox.attach("slow")).cause == "timed_out"


async def test_files_of_the_agent_are_no_part_of_the_truth(open_sandbox):
    first = await open_sandbox()
    outcome = await first.bash("echo x >> ~/once.txt; seq 100000", call_id="the-call")
    await first.bash("rm -rf /workspace/.paca /workspace/* /tmp/* /workspace/.[a-z]*")
    await first.sandbox.detach()
    second = await open_sandbox(conversation=first.spec.conversation_id)
    assert await second.sandbox.attach("the-call") == outcome
    assert await second.bash("echo x >> ~/once.txt; seq 100000", call_id="the-call") == outcome
    assert (await second.bash("cat ~/once.txt")).output == "x\n"


async def test_the_newer_attachment_wins_and_the_older_is_told(open_sandbox):
    first = await open_sandbox()
    line = "until [ -e /tmp/go-on ]; do sleep 0.05; done; echo done"
    running = asyncio.create_task(first.bash(line, call_id="shared"))
    await asyncio.sleep(0.2)
    second = await open_sandbox(conversation=first.spec.conversation_id)
    with pytest.raises(Superseded):
        await running
    with pytest.raises(Superseded):
        await first.bash("echo x > stolen.txt")
    await second.bash("touch /tmp/go-on")
    assert (await second.sandbox.attach("shared")).output == "done\n"
    assert (await second.bash("ls")).output == ""


async def test_a_lower_epoch_is_refused_and_the_holder_keeps_the_sandbox(open_sandbox):
    current = await open_sandbox(epoch=5)
    with pytest.raises(Superseded):
        await open_sandbox(conversation=current.spec.conversation_id, epoch=4)
    assert (await current.bash("echo mine")).output == "mine\n"
    later = await open_sandbox(conversation=current.spec.conversation_id, epoch=6)
    assert later.sandbox.boot_id == current.sandbox.boot_id


@only_bubblewrap  # which writes it down; elsewhere a lost lease ends a run before it opens one
async def test_a_lower_epoch_is_refused_though_the_runner_is_gone(open_sandbox):
    current = await open_sandbox(epoch=5)
    await current.sandbox.destroy(keep_files=True)
    with pytest.raises(Superseded):
        await open_sandbox(conversation=current.spec.conversation_id, epoch=4)


async def gone(pid: int) -> None:
    for _ in range(200):
        if proc.start_time(pid) is None:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"process {pid} is still there")


class RawWorker:
    """Speaks to a runner byte by byte, as a broken or dying worker would."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._unread = b""

    def __enter__(self) -> "RawWorker":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def heard(self, name: str = "aa") -> bytes:
        """The next answer to this name: a container's stream also shows what others are told."""
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


async def test_half_a_frame_of_a_killed_worker_is_never_completed(open_sandbox, raw):
    hands = await open_sandbox()
    dying = raw(hands)
    dying.send(encode("aa", {"op": "attach", "id": 1, "epoch": 1}))
    assert b'"ok"' in dying.heard()
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
    again = await open_sandbox(conversation=hands.spec.conversation_id)
    assert (await again.bash("ls")).output == ""
    with pytest.raises(CallUnknown):
        await again.sandbox.attach("half")


async def test_half_a_frame_on_the_same_stream_ends_at_the_next_attachment(open_sandbox, raw):
    hands = await open_sandbox()
    by_hand = raw(hands)
    request = {
        "op": "run",
        "id": 2,
        "call_id": "half",
        "shell": "touch half.txt",
        "cwd": ".",
        "timeout": 5,
        "env": {},
    }
    by_hand.send(encode("aa", {"op": "attach", "id": 1, "epoch": 1}))
    by_hand.send(encode("aa", request)[:-1])
    by_hand.send(RESYNC + encode("bb", {"op": "attach", "id": 1, "epoch": 1}))
    by_hand.send(encode("bb", {**request, "call_id": "whole", "shell": "touch whole.txt"}))
    assert b'"boot_id"' in by_hand.heard("bb")
    assert b'"ok"' in by_hand.heard("bb"), "it was begun"
    again = await open_sandbox(conversation=hands.spec.conversation_id)
    assert (await again.sandbox.attach("whole")).exit_code == 0
    assert (await again.bash("ls")).output == "whole.txt\n"


async def test_frames_without_an_attachment_or_of_another_nonce_count_for_nothing(
    open_sandbox, raw
):
    hands = await open_sandbox()
    by_hand = raw(hands)
    request = {
        "op": "run",
        "id": 2,
        "call_id": "x",
        "shell": "touch x.txt",
        "cwd": ".",
        "timeout": 5,
        "env": {},
    }
    by_hand.send(b"garbage\n\xff\xfe\n" + encode("aa", request))
    by_hand.send(encode("aa", {"op": "attach", "id": 1, "epoch": "one"}) + encode("aa", request))
    assert b"superseded" in by_hand.heard()
    assert (await hands.bash("ls")).output == ""
    by_hand.send(encode("aa", {"op": "attach", "id": 1, "epoch": 1}))
    by_hand.send(encode("bb", request))
    damaged = bytearray(encode("aa", request))
    damaged[-8] ^= 1
    by_hand.send(bytes(damaged))
    await asyncio.sleep(0.3)
    again = await open_sandbox(conversation=hands.spec.conversation_id)
    assert (await again.bash("ls")).output == ""


async def test_a_request_that_makes_no_sense_is_answered_and_harms_nothing(open_sandbox, raw):
    hands = await open_sandbox()
    by_hand = raw(hands)
    by_hand.send(encode("aa", {"op": "attach", "id": 1, "epoch": 1}))
    by_hand.heard()
    for request in (
        {"op": "no such thing"},
        {"op": ["run"]},
        {"op": "run"},
        {"op": "run", "call_id": 7, "shell": "true", "cwd": ".", "timeout": "soon", "env": {}},
        {"op": "run", "call_id": "z", "shell": "true", "cwd": 3, "timeout": 5, "env": []},
        {"op": "read", "path": None, "offset": 0, "limit": 1},
        {"op": "read", "path": "x", "offset": -5, "limit": 10**30},
        {"op": "list", "path": ".", "depth": 1, "limit": "few"},
        {"op": "write", "call_id": "w", "path": "x", "content": "no base64!", "expected": None},
        {"op": "attach", "id": 2, "epoch": None},
    ):
        by_hand.send(encode("aa", {"id": 9, **request}))
        assert b'"error"' in by_hand.heard()
    again = await open_sandbox(conversation=hands.spec.conversation_id)
    assert again.sandbox.boot_id == hands.sandbox.boot_id


async def test_a_dead_runner_is_noticed_and_replaced(backend, open_sandbox):
    hands = await open_sandbox()
    await hands.put("kept.txt", "kept")
    running = asyncio.create_task(hands.bash("sleep 60", call_id="lost"))
    await asyncio.sleep(0.3)
    os.kill(runners.pid(backend, hands.spec.conversation_id), signal.SIGKILL)
    with pytest.raises(SandboxGone):
        await running
    with pytest.raises(SandboxGone):
        await hands.bash("echo x")
    again = await open_sandbox(conversation=hands.spec.conversation_id, epoch=2)
    assert again.sandbox.boot_id != hands.sandbox.boot_id
    assert (await again.bash("cat kept.txt")).output == "kept"
    with pytest.raises(CallUnknown):
        await again.sandbox.attach("lost")


async def test_a_runner_that_does_not_answer_is_replaced(backend, open_sandbox, monkeypatch):
    hands = await open_sandbox()
    await hands.sandbox.detach()
    pid = runners.pid(backend, hands.spec.conversation_id)
    with runners.silenced(backend, hands.spec.conversation_id):
        monkeypatch.setattr(f"paca.sandbox.{backend.name}.backend.ATTACH_SECONDS", 1)
        starting = asyncio.create_task(
            open_sandbox(conversation=hands.spec.conversation_id, epoch=2)
        )
        await gone(pid)
        monkeypatch.undo()
        assert (await (await starting).bash("echo new")).output == "new\n"


async def test_one_that_is_silent_to_a_superseded_worker_is_left_to_the_other(
    backend, open_sandbox, monkeypatch
):
    """It may be another's by now, who is just talking with it."""
    hands = await open_sandbox()
    await hands.sandbox.detach()

    async def no() -> bool:
        return False

    monkeypatch.setattr(f"paca.sandbox.{backend.name}.backend.ATTACH_SECONDS", 1)
    with runners.silenced(backend, hands.spec.conversation_id), pytest.raises(Superseded):
        await backend.open(hands.spec, epoch=2, may_replace=no)
    monkeypatch.undo()
    again = await open_sandbox(conversation=hands.spec.conversation_id, epoch=2)
    assert again.sandbox.boot_id == hands.sandbox.boot_id


async def test_many_workers_opening_at_once_get_one_runner(backend, open_sandbox):
    conversation = uuid.uuid4()
    opened = await asyncio.gather(
        *(open_sandbox(conversation=conversation) for _ in range(5)), return_exceptions=True
    )
    # With one epoch for all, the last to attach has it; a lease gives no epoch to two of them.
    holders = [one for one in opened if not isinstance(one, Superseded)]
    assert len(holders) == 5 or backend.name == "docker"
    assert len({hands.sandbox.boot_id for hands in holders}) == 1


async def test_a_sandbox_nobody_needs_ends_by_itself(tmp_path, another_backend):
    backend = another_backend(tmp_path, idle_seconds=1)
    conversation = uuid.uuid4()
    sandbox = await backend.open(SandboxSpec(conversation), epoch=1)
    await sandbox.run(Command("server", shell="sleep 1234 & echo begun"))
    pid = runners.pid(backend, conversation)
    await asyncio.sleep(1.5)
    assert proc.start_time(pid) is not None, "attached: it stays"
    await sandbox.detach()
    await gone(pid)
    again = await backend.open(SandboxSpec(conversation), epoch=1)
    await again.destroy(keep_files=False)


async def test_a_running_command_keeps_a_lonely_sandbox_alive(tmp_path, another_backend):
    backend = another_backend(tmp_path, idle_seconds=0.5)
    spec = SandboxSpec(uuid.uuid4())
    sandbox = await backend.open(spec, epoch=1)
    waiting = asyncio.create_task(sandbox.run(Command("slow", shell="sleep 5; echo done")))
    await asyncio.sleep(0.2)
    await sandbox.detach()
    with pytest.raises(SandboxGone):
        await waiting
    await asyncio.sleep(1)
    again = await backend.open(spec, epoch=1)
    assert (await again.attach("slow")).output == "done\n"
    await again.destroy(keep_files=False)


async def test_a_sweep_ends_only_what_nobody_keeps(
    backend, tmp_path, open_sandbox, another_backend
):
    kept, unwanted = await open_sandbox(), await open_sandbox()
    await unwanted.put("file.txt", "stays")
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
    await other.destroy(keep_files=False)


@only_bubblewrap
async def test_destroying_leaves_nothing_on_the_host(backend, tmp_path, open_sandbox):
    hands = await open_sandbox()
    home = runners.home(backend, hands.spec.conversation_id)
    await hands.bash("mkdir -p a/b; touch a/b/c; chmod 0 a/b; ln -s / root; setsid sleep 1234 &")
    pid = host_process.read_record(home.folder).pid
    assert any(folder.exists() for folder in home.control_group.folders) == (os.geteuid() == 0)
    await hands.sandbox.destroy(keep_files=False)
    assert proc.start_time(pid) is None
    assert not home.workspace.exists()
    assert not home.folder.exists()
    assert not any(folder.exists() for folder in home.control_group.folders)


async def test_a_data_folder_with_a_very_long_path_works(tmp_path):
    deep = tmp_path.joinpath(*("a-rather-long-name-of-a-folder" for _ in range(6)))
    backend = Bubblewrap(deep, "tests", idle_seconds=30)
    sandbox = await backend.open(SandboxSpec(uuid.uuid4()), epoch=1)
    assert (await sandbox.run(Command("a", shell="echo fine"))).output == "fine\n"
    await sandbox.destroy(keep_files=False)


async def test_a_data_folder_that_cannot_be_written_is_told_plainly(tmp_path):
    (tmp_path / "file").write_text("")
    backend = Bubblewrap(tmp_path / "file", "tests")
    with pytest.raises(SandboxUnavailable, match="could not be started"):
        await backend.open(SandboxSpec(uuid.uuid4()), epoch=1)
