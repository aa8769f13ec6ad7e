"""Processes of a sandbox that the worker talks with: they keep their input open and end with the worker."""

import asyncio
import itertools

import pytest

from paca.engine.workspace import CallUnknown, Command, ProcessPipe
from tests.sandbox.conftest import SandboxHandle

ids = itertools.count(1)


async def open_pipe(sandbox: SandboxHandle, line: str, **env: str) -> ProcessPipe:
    return await sandbox.sandbox.open_pipe(Command(f"pipe-{next(ids)}", shell=line, env=env))


async def read_until(pipe: ProcessPipe, end: bytes) -> bytes:
    read = b""
    async with asyncio.timeout(120):
        while not read.endswith(end):
            data = await pipe.receive()
            if not data:
                break
            read += data
    return read


async def wait_until_ended(sandbox: SandboxHandle, text: str) -> None:
    async with asyncio.timeout(120):
        while text in await sandbox.processes():  # noqa: ASYNC110 - a state of the sandbox
            await asyncio.sleep(0.05)


async def test_a_pipe_carries_lines_both_ways_with_its_own_environment(handle):
    pipe = await open_pipe(handle, 'while read -r line; do echo "$WORD $line"; done', WORD="got")
    await pipe.send(b"one\n")
    assert await read_until(pipe, b"\n") == b"got one\n"
    await pipe.send(b"two\nthree\n")
    assert await read_until(pipe, b"three\n") == b"got two\ngot three\n"
    assert "got" not in (await handle.bash("env")).output
    await pipe.close()
    await wait_until_ended(handle, "while read")


async def test_a_pipe_carries_megabytes_both_ways(handle):
    pipe = await open_pipe(handle, "exec cat")
    sent = b"x" * (3 << 20) + b"\n"
    sending = asyncio.create_task(pipe.send(sent))
    assert await read_until(pipe, b"\n") == sent
    await sending
    await pipe.close()


async def test_a_process_that_floods_waits_until_its_output_is_received(handle):
    pipe = await open_pipe(handle, "exec yes")
    received = b""
    while len(received) < 300_000:
        received += await pipe.receive()
    assert set(received) == set(b"y\n")
    assert (await handle.bash("echo alive")).output == "alive\n"
    await pipe.close()


async def test_the_end_of_a_process_tells_its_code_and_errors(handle):
    pipe = await open_pipe(handle, "echo last; echo broken >&2; exit 3")
    assert await read_until(pipe, b"\n") == b"last\n"
    outcome = await pipe.outcome()
    assert (outcome.exit_code, outcome.output) == (3, "broken\n")
    assert await pipe.receive() == b""
    with pytest.raises(CallUnknown):
        await pipe.send(b"more\n")


async def test_a_program_that_does_not_exist_is_an_end_with_its_cause(handle):
    pipe = await handle.sandbox.open_pipe(Command(f"pipe-{next(ids)}", argv=("no-such-server",)))
    outcome = await pipe.outcome()
    assert outcome.exit_code == 127
    assert "No such file" in outcome.output
    assert await pipe.receive() == b""


async def test_processes_with_a_pipe_end_when_another_worker_attaches(handle, backend):
    pipe = await open_pipe(handle, "sleep 1234 & exec cat")
    await pipe.send(b"hello\n")
    assert await read_until(pipe, b"\n") == b"hello\n"
    again = await backend.open(handle.spec, epoch=2)
    later = SandboxHandle(again, handle.spec)
    await wait_until_ended(later, "sleep 1234")
    await wait_until_ended(later, "cat")
    await again.detach()


async def test_processes_with_a_pipe_end_when_the_worker_detaches(handle, backend):
    pipe = await open_pipe(handle, "exec cat")
    await pipe.send(b"hello\n")
    assert await read_until(pipe, b"\n") == b"hello\n"
    await handle.sandbox.detach()
    again = await backend.open(handle.spec, epoch=1)
    later = SandboxHandle(again, handle.spec)
    await wait_until_ended(later, "cat")
    await again.detach()
