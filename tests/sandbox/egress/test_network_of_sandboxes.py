"""Commands in a sandbox reach allowed hosts through the gate, and nothing without it."""

import asyncio
import os
import signal
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from paca.sandbox.base import Sandbox, SandboxSpec
from paca.sandbox.egress.booking import read_lines
from paca.sandbox.manager import SandboxManager
from tests.sandbox.conftest import PARAMETERS, SandboxHandle
from tests.sandbox.egress.test_gates import pid_of
from tests.support.egress import POLICY, EgressWorld
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.service]
FETCH = """python3 - <<'E'
import sys, urllib.request, urllib.error
try:
    print(urllib.request.urlopen("http://{}/a", timeout=20).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
except OSError as error:
    print(type(error).__name__, error)
E"""


@pytest.fixture
async def world(tmp_path, anyio_backend) -> AsyncIterator[EgressWorld]:
    folder = tmp_path / "gate"
    folder.mkdir()
    folder.chmod(0o755)
    async with EgressWorld(folder) as made:
        made.socket_path.chmod(0o666)
        yield made


@pytest.fixture
async def opened(backend, world, anyio_backend) -> AsyncIterator[SandboxHandle]:
    spec = SandboxSpec(uuid.uuid4(), egress=POLICY, gate=world.socket_path.parent)
    sandbox: Sandbox = await backend.open(spec, epoch=1)
    yield SandboxHandle(sandbox, spec)
    await sandbox.end(keep_files=False)


@pytest.mark.parametrize("backend", PARAMETERS, indirect=True)
async def test_commands_reach_listed_hosts_only(opened, world):
    found = await opened.bash(FETCH.format("pkgs.dev"))
    assert found.output.strip() == "hello"
    found = await opened.bash(FETCH.format("evil.example"))
    assert "403" in found.output
    assert "evil.example is not on the list of hosts of this project" in found.output
    direct = await opened.bash("unset http_proxy HTTP_PROXY; " + FETCH.format("1.1.1.1"))
    assert "URLError" in direct.output
    interfaces = await opened.bash("tail -n +3 /proc/net/dev | cut -d: -f1")
    assert interfaces.output.split() == ["lo"]


@pytest.mark.parametrize("backend", PARAMETERS, indirect=True)
async def test_large_transfers_arrive_whole_and_in_bounded_memory(opened, world):
    world.answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * (8 << 20)
    fetch = FETCH.format("pkgs.dev").replace(".read().decode()", ".read().count(b'x')")
    found = await asyncio.gather(*(opened.bash(fetch, seconds=60) for _ in range(3)))
    assert {each.output.strip() for each in found} == {str(8 << 20)}


@pytest.mark.parametrize("backend", PARAMETERS, indirect=True)
async def test_a_gate_that_is_away_is_told_and_found_again(opened, world):
    away = world.socket_path.with_name("away")
    world.socket_path.rename(away)
    found = await opened.bash(FETCH.format("pkgs.dev"))
    assert "503" in found.output
    assert "run the command again" in found.output
    away.rename(world.socket_path)
    found = await opened.bash(FETCH.format("pkgs.dev"))
    assert found.output.strip() == "hello"


@pytest.mark.parametrize("backend", PARAMETERS, indirect=True)
async def test_the_socket_of_the_gate_cannot_be_replaced_from_inside(opened):
    found = await opened.bash("rm -f /run/paca/gate; touch /run/paca/x; ls /run/paca")
    assert found.output.split()[-1] == "gate"


@pytest.mark.parametrize("backend", PARAMETERS, indirect=True)
async def test_a_sandbox_without_a_network_has_no_proxy(open_sandbox):
    handle = await open_sandbox()
    found = await handle.bash("env | grep -i proxy; ls /run/paca 2>&1; echo done")
    assert "3128" not in found.output
    assert "No such file" in found.output


async def test_a_sandbox_of_the_manager_has_the_network_of_now(tmp_path, anyio_backend):
    """With the gate process that workers use: a policy holds at once, and a killed gate is started again."""
    manager = SandboxManager(kind="bubblewrap", data_dir=tmp_path, install_id="tests")
    spec = await manager.with_gate(SandboxSpec(uuid.uuid4(), egress=POLICY))
    sandbox = await (await manager.choose_backend()).open(spec, epoch=1)
    try:
        handle = SandboxHandle(sandbox, spec)
        fetch = FETCH.format("evil.example")
        assert "not on the list of hosts" in (await handle.bash(fetch)).output
        await manager.with_gate(replace(spec, egress=None))
        assert "This sandbox has no network" in (await handle.bash(fetch)).output
        os.kill(pid_of(manager.gates.root), signal.SIGKILL)
        await until(lambda: not pid_of(manager.gates.root))
        assert "run the command again" in (await handle.bash(fetch)).output
        await manager.with_gate(spec)
        assert "not on the list of hosts" in (await handle.bash(fetch)).output
        booked = read_lines(manager.gates.folder(spec.conversation_id).booked, 0)[0]
        assert [line.reason for line in booked] == ["not_listed", "closed", "not_listed"]
    finally:
        await sandbox.end(keep_files=False)
        if pid := pid_of(manager.gates.root):
            os.kill(pid, signal.SIGKILL)
