"""Docker sandboxes: their containers, image and daemon, and other containers on the same machine."""

import asyncio
import json
import os
import subprocess
import uuid
from pathlib import Path

import pytest

from paca.engine.workspace import (
    Command,
    SandboxGone,
    SandboxUnavailable,
    SandboxUnreachable,
)
from paca.sandbox import runner_bundle
from paca.sandbox.base import Sandbox, SandboxLimits, SandboxSpec, new_probe_id
from paca.sandbox.docker import container, self_test
from paca.sandbox.docker.backend import Docker
from paca.sandbox.docker.engine import MAX_CONCURRENT_CALLS, DockerEngine, DockerRefused
from paca.sandbox.manager import DockerAddress, SandboxManager
from tests.sandbox.conftest import only_docker, write_file
from tests.support import docker_backend
from tests.support.docker_proxy import DockerProxy
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio]
docker = pytest.mark.docker


# --- isolation ------------------------------------------------------------------------------------


@only_docker
async def test_a_container_has_the_isolation_of_the_threat_model(backend, handle):
    """Items S1 to S5, S7 to S9 and S11 to S14 of the threat model, read from the daemon."""
    inspected = docker_backend.described(backend, handle.spec.conversation_id)
    config, host = inspected["Config"], inspected["HostConfig"]
    assert config["User"] == "10001:10001"
    assert not config["Env"] or all(name.startswith("PATH=") for name in config["Env"])
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert host["Privileged"] is False
    assert host["ReadonlyRootfs"] is True
    options = dict(option.partition("=")[::2] for option in host["SecurityOpt"])
    assert "no-new-privileges:true" in options
    assert json.loads(options["seccomp"])["defaultAction"] == "SCMP_ACT_ERRNO"
    assert host["Memory"] == host["MemorySwap"] == 2048 << 20
    assert host["NetworkMode"] == "none"
    assert host["LogConfig"]["Type"] == "none"
    assert not host["Devices"]
    assert not host["Binds"]
    assert {host["PidMode"], host["UTSMode"], host["UsernsMode"]} == {""}
    assert host["IpcMode"] == "private"
    assert host["Init"] is False
    assert {limit["Name"]: limit["Hard"] for limit in host["Ulimits"]} == {
        "core": 0,
        "nofile": 2048,
    }
    for options in host["Tmpfs"].values():
        assert {"nosuid", "nodev"} <= set(options.split(","))
        assert "size=" in options
    assert [(mount["Type"], mount["Destination"]) for mount in inspected["Mounts"]] == [
        ("volume", "/workspace")
    ]
    assert {"/proc/kcore", "/proc/keys", "/sys/firmware"} <= set(host["MaskedPaths"])
    assert {"/proc/sys", "/proc/sysrq-trigger"} <= set(host["ReadonlyPaths"])
    assert config["Labels"]["paca.conversation_id"] == str(handle.spec.conversation_id)
    assert config["Labels"]["paca.managed"] == "true"


@only_docker
async def test_a_container_is_made_from_the_images_digest(backend, handle):
    inspected = docker_backend.described(backend, handle.spec.conversation_id)
    assert inspected["Config"]["Image"].startswith("sha256:")
    assert inspected["Config"]["Image"] == await backend.creator.image_id()


@only_docker
async def test_a_container_mounts_nothing_of_the_host(handle):
    mounts = (await handle.bash("cut -d' ' -f5,6 /proc/self/mountinfo")).output.splitlines()
    allowed = ("/", "/proc", "/dev", "/sys", "/tmp", "/run", "/home/agent", "/workspace")
    names = ("/etc/resolv.conf", "/etc/hostname", "/etc/hosts")
    for mount in mounts:
        path, options = mount.split()
        assert (
            path in names
            or any(path == root or path.startswith(f"{root.rstrip('/')}/") for root in allowed[1:])
            or path == "/"
        )
        if path in ("/", "/sys", *names):
            assert options.split(",")[0] == "ro" or path in names
    found = await handle.bash(
        "find / -xdev -name 'docker.sock' 2>/dev/null; ls /dev; ls /sys/kernel"
    )
    assert "docker.sock" not in found.output
    assert not {"sda", "vda", "mem", "kvm", "fuse"} & set(found.output.split())
    written = await handle.bash("for f in /etc/hosts /etc/resolv.conf; do echo x >> $f; done; true")
    assert written.output.count("Permission denied") + written.output.count("Read-only") == 2


@only_docker
async def test_the_image_has_no_setuid_programs(handle):
    assert (await handle.bash("find / -xdev -perm /6000 -type f 2>/dev/null")).output == ""
    assert "may not run sudo" not in (await handle.bash("su -c id; sudo id")).output
    assert "uid=0" not in (await handle.bash("su -c id </dev/null")).output


@only_docker
async def test_the_image_has_what_agents_need(handle):
    """The whole of Python is needed: Debian's minimal package lacks json."""
    outcome = await handle.bash(
        "python3 -c 'import asyncio, ctypes, json, sqlite3, ssl, venv; print(1)' && git --version"
        " && rg --version && curl --version && make --version && cc --version && pip --version"
    )
    assert outcome.exit_code == 0, outcome.output


@only_docker
async def test_git_trusts_a_repository_in_the_workspace(handle):
    outcome = await handle.bash(
        "git init -q . && git commit -q --allow-empty -m x && git log --oneline"
    )
    assert outcome.exit_code == 0, outcome.output


# --- the image ------------------------------------------------------------------------------------


@docker
async def test_a_missing_image_is_reported_with_the_command_that_builds_it(tmp_path):
    docker_backend.skip_without()
    backend = Docker(DockerEngine(), "tests", image="paca-sandbox:never-made")
    with pytest.raises(
        SandboxUnavailable, match="AGENT_SANDBOX_IMAGE=paca-sandbox:never-made make"
    ):
        await backend.open(SandboxSpec(uuid.uuid4()), epoch=1)


@docker
async def test_an_image_of_another_version_is_reported_with_the_command_that_rebuilds_it(
    monkeypatch,
):
    docker_backend.skip_without()
    monkeypatch.setattr(runner_bundle, "runner_version", lambda: "another")
    backend = Docker(DockerEngine(), "tests", image=docker_backend.IMAGE)
    with pytest.raises(SandboxUnavailable, match="another version of Paca.*make sandbox-image"):
        await backend.open(SandboxSpec(uuid.uuid4()), epoch=1)


@docker
async def test_a_runner_that_fails_to_start_is_reported_with_its_last_output(tmp_path, monkeypatch):
    docker_backend.skip_without()
    monkeypatch.setattr(container, "RUNNER_ARGUMENTS", ("-c", BROKEN_RUNNER))
    backend, spec = docker_backend.make(tmp_path), SandboxSpec(uuid.uuid4())
    with pytest.raises(SandboxUnavailable, match="the runner is broken"):
        await backend.open(spec, epoch=1)
    assert backend.list_started() == {}
    await backend.remove(spec.conversation_id)


@docker
async def test_a_probe_that_fails_leaves_neither_container_nor_volume(tmp_path, monkeypatch):
    docker_backend.skip_without()
    monkeypatch.setattr(container, "RUNNER_ARGUMENTS", ("-c", BROKEN_RUNNER))
    backend = docker_backend.make(tmp_path)
    with pytest.raises(SandboxUnavailable, match="the runner is broken"):
        await backend.probe()
    assert backend.list_started() == {}
    mine = {"label": f"paca.install={docker_backend.install_id(tmp_path)}"}
    left = await backend.engine.call(lambda client: client.volumes(filters=mine))
    assert not left["Volumes"]


# --- the daemon -----------------------------------------------------------------------------------


async def test_a_missing_daemon_is_reported_with_the_command_that_starts_it(tmp_path):
    backend = Docker(
        DockerEngine(f"unix://{tmp_path}/docker.sock"), "tests", image=docker_backend.IMAGE
    )
    with pytest.raises(SandboxUnreachable, match="sudo systemctl start docker"):
        await backend.check()
    with pytest.raises(SandboxUnreachable, match="systemctl start docker"):
        backend.list_started()


BROKEN_RUNNER = "raise SystemExit('the runner is broken')"
ADDRESSES = {
    "tcp://docker.example:2375": "without TLS",
    "ssh://somebody@docker.example": "unix:///path/of/docker.sock",
    "nonsense": "unix:///path/of/docker.sock",
}


@pytest.mark.parametrize("address", ADDRESSES)
async def test_an_unusable_docker_address_is_reported(address):
    with pytest.raises(SandboxUnavailable, match=ADDRESSES[address]):
        await Docker(DockerEngine(address), "tests", image=docker_backend.IMAGE).check()


async def test_missing_certificates_are_reported(tmp_path):
    engine = DockerEngine("tcp://docker.example:2376", str(tmp_path))
    with pytest.raises(SandboxUnavailable, match="ca.pem is missing"):
        await Docker(engine, "tests", image=docker_backend.IMAGE).check()


CHECK_AS_NOBODY = """
import asyncio, sys
from paca.engine.workspace import SandboxUnavailable
from paca.sandbox.docker.backend import Docker
from paca.sandbox.docker.engine import DockerEngine
try:
    asyncio.run(Docker(DockerEngine(), "tests", image="paca-sandbox:1").check())
except SandboxUnavailable as reason:
    print(reason.detail)
"""


@docker
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_a_forbidden_docker_socket_is_reported_with_the_command_that_allows_it():
    """The account that runs Paca may not use the socket (T-53)."""
    docker_backend.skip_without()
    root, site = Path(__file__).resolve().parents[2], Path(pytest.__file__).parents[1]
    done = subprocess.run(
        ["/usr/bin/python3", "-c", CHECK_AS_NOBODY],
        cwd=root,
        env={"PYTHONPATH": f"{root}:{site}", "PYTHONDONTWRITEBYTECODE": "1"},
        user=65_534,
        group=65_534,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "sudo usermod -aG docker" in done.stdout, done.stderr


async def test_a_silent_daemon_is_reported_as_silent_whichever_deadline_ends_first(tmp_path):
    """The one of the caller, or the one of the request that the SDK sends when it makes a client."""
    held: list[asyncio.StreamWriter] = []
    server = await asyncio.start_unix_server(
        lambda _, writer: held.append(writer), tmp_path / "docker.sock"
    )
    engine = DockerEngine(f"unix://{tmp_path}/docker.sock")
    with pytest.raises(SandboxUnreachable, match="did not answer within 0.2 seconds"):
        await asyncio.to_thread(engine._run_in_thread, lambda client: client.ping(), 0.2)
    server.close()
    for writer in held:
        writer.close()


async def test_a_silent_daemon_blocks_no_caller_beyond_the_deadline(tmp_path):
    """Every call has a deadline, and its thread is free again soon after it."""
    held: list[asyncio.StreamWriter] = []
    server = await asyncio.start_unix_server(
        lambda _, writer: held.append(writer), tmp_path / "docker.sock"
    )
    engine = DockerEngine(f"unix://{tmp_path}/docker.sock")
    async with asyncio.timeout(15):
        calls = [engine.call(lambda client: client.ping(), seconds=1) for _ in range(20)]
        ended = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(end) for end in ended} == {SandboxUnreachable}
    assert {"did not answer within 1 second" in str(end) for end in ended} == {True}
    # Making a client sends a request too, whose own deadline is a minute.
    async with asyncio.timeout(20):
        for _ in range(MAX_CONCURRENT_CALLS):
            await asyncio.wrap_future(engine._pool.submit(int))
    server.close()
    for writer in held:
        writer.close()


@docker
async def test_commands_end_as_lost_when_containers_are_killed_under_load(tmp_path):
    """Docker may hang near the end of a container (trap 30). Commands end as lost within ten seconds."""
    docker_backend.skip_without()
    backend = docker_backend.make(tmp_path)
    specs = [SandboxSpec(uuid.uuid4()) for _ in range(3)]
    opened = [await backend.open(spec, epoch=1) for spec in specs]
    writing: set[tuple[int, int]] = set()
    running = [
        asyncio.create_task(
            sandbox.run(
                Command(f"{n}", shell="yes | head -c 20M; sleep 60"),
                lambda _, call=(number, n): writing.add(call),
            )
        )
        for number, sandbox in enumerate(opened)
        for n in range(5)
    ]
    await until(lambda: len(writing) == len(running))
    async with asyncio.timeout(10):
        await asyncio.gather(*(backend.remove_container(spec.conversation_id) for spec in specs))
        ended = await asyncio.gather(*running, return_exceptions=True)
    assert {type(end) for end in ended} == {SandboxGone}
    for spec in specs:
        await backend.remove(spec.conversation_id)


@docker
async def test_a_flood_of_output_does_not_grow_the_worker(tmp_path):
    """Docker clients may buffer all output of a container (trap 32)."""
    docker_backend.skip_without()
    backend, spec = docker_backend.make(tmp_path), SandboxSpec(uuid.uuid4())
    sandbox = await backend.open(spec, epoch=1)
    before = _resident_bytes()
    shown: list[int] = []
    outcome = await sandbox.run(
        Command("flood", shell="timeout 5 yes aaaaaaaaaaaaaaaaaaaaaaaa; true"),
        lambda text: shown.append(len(text)),
    )
    assert outcome.truncated
    assert len(outcome.output) <= 64 << 10
    assert _resident_bytes() - before < 30 << 20
    assert shown
    await sandbox.end(keep_files=False)


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


# --- a connection that breaks ---------------------------------------------------------------------


@docker
async def test_a_command_is_found_again_after_its_connection_was_cut(tmp_path):
    docker_backend.skip_without()
    with DockerProxy(tmp_path) as proxy:
        backend = Docker(
            DockerEngine(proxy.address),
            docker_backend.install_id(tmp_path),
            image=docker_backend.IMAGE,
        )
        spec = SandboxSpec(uuid.uuid4())
        sandbox = await backend.open(spec, epoch=1)
        begun = asyncio.Event()
        running = asyncio.create_task(
            sandbox.run(
                Command("slow", shell="echo x >> once; echo begun; sleep 2; cat once"),
                lambda _: begun.set(),
            )
        )
        await begun.wait()
        proxy.cut()
        with pytest.raises(SandboxGone):
            await running
        with pytest.raises(SandboxUnreachable):
            await backend.open(spec, epoch=2)
        proxy.restore()
        again = await backend.open(spec, epoch=2)
        assert again.boot_id == sandbox.boot_id
        assert (await again.attach("slow")).output == "begun\nx\n"
        await again.end(keep_files=False)


@docker
async def test_a_sandbox_blocked_by_a_frozen_worker_is_kept_until_it_can_be_opened(
    tmp_path, monkeypatch
):
    """Docker copies the output to all attached clients, and waits for the slowest."""
    docker_backend.skip_without()
    monkeypatch.setattr("paca.sandbox.docker.stream.SILENT_SECONDS", 1)
    monkeypatch.setattr("paca.sandbox.docker.backend.ATTACH_SECONDS", 2)
    backend, spec = docker_backend.make(tmp_path, idle_seconds=4), SandboxSpec(uuid.uuid4())
    await backend.open(spec, epoch=1)
    frozen = docker_backend.raw_connection(backend, spec.conversation_id)
    second = await backend.open(spec, epoch=2)
    await second.write("keep", "kept.txt", b"kept")
    with pytest.raises(SandboxGone, match="does not answer"):
        await _flood(second)
    with pytest.raises(
        SandboxUnreachable, match="another client that is attached to it does not read"
    ):
        await backend.open(spec, epoch=3)
    frozen.close()
    third = await backend.open(spec, epoch=4)
    assert third.boot_id == second.boot_id
    assert (await third.run(Command("look", shell="cat kept.txt"))).output == "kept"
    await backend.remove(spec.conversation_id)


async def _flood(sandbox: Sandbox) -> None:
    """Write more output than Docker buffers for a client that does not read, which is a megabyte."""
    for number in range(200):
        await sandbox.run(Command(f"flood-{number}", shell="head -c 30000 /dev/zero | tr '\\0' x"))


@docker
async def test_a_manager_reports_a_stopped_daemon_and_notices_its_return(tmp_path):
    docker_backend.skip_without()
    with DockerProxy(tmp_path) as proxy:
        manager = SandboxManager(
            kind="docker",
            data_dir=tmp_path,
            install_id=docker_backend.install_id(tmp_path),
            docker=DockerAddress(host=proxy.address, image=docker_backend.IMAGE),
        )
        assert await manager.unavailable_reason() is None
        proxy.cut()
        assert "systemctl start docker" in (await manager.unavailable_reason() or "")
        proxy.restore()
        assert await manager.unavailable_reason() is None


# --- which backend --------------------------------------------------------------------------------


async def test_a_manager_set_to_docker_never_falls_back_to_another_backend(tmp_path):
    nowhere = DockerAddress(host=f"unix://{tmp_path}/docker.sock")
    manager = SandboxManager(kind="docker", data_dir=tmp_path, install_id="tests", docker=nowhere)
    assert "systemctl start docker" in (await manager.unavailable_reason() or "")
    with pytest.raises(SandboxUnavailable):
        await manager.open(SandboxSpec(uuid.uuid4()), epoch=1)
    assert manager.active_backend_name == "docker"
    assert not (tmp_path / "workspaces").exists()


@docker
async def test_a_manager_set_to_auto_uses_docker_if_it_answers_and_has_the_image(tmp_path):
    docker_backend.skip_without()
    install = docker_backend.install_id(tmp_path)
    address = DockerAddress(image=docker_backend.IMAGE)
    manager = SandboxManager(kind="auto", data_dir=tmp_path, install_id=install, docker=address)
    assert await manager.unavailable_reason() is None
    assert manager.active_backend_name == "docker"
    assert "2048 MiB" in manager.description
    without = DockerAddress(image="paca-sandbox:never-made")
    manager = SandboxManager(kind="auto", data_dir=tmp_path, install_id=install, docker=without)
    assert await manager.unavailable_reason() is None
    assert manager.active_backend_name == "bubblewrap"
    assert "make sandbox-image" in manager.fallback_reason


@docker
async def test_the_files_of_a_conversation_stay_with_their_backend(tmp_path):
    """Docker may appear or vanish with a restart; a workspace must not seem empty because of that."""
    docker_backend.skip_without()
    install = docker_backend.install_id(tmp_path)
    spec = SandboxSpec(uuid.uuid4(), files_backend="bubblewrap")
    manager = SandboxManager(kind="auto", data_dir=tmp_path, install_id=install)
    assert await manager.unavailable_reason() is None
    sandbox = await manager.open(spec, epoch=1)
    assert (await sandbox.run(Command("a", shell="id -u"))).output != "10001\n"
    await sandbox.end(keep_files=False)
    only = SandboxManager(kind="docker", data_dir=tmp_path, install_id=install)
    with pytest.raises(SandboxUnavailable, match="PACA_SANDBOX=auto"):
        await only.open(spec, epoch=1)


class Unsafe:
    """A backend whose self-test fails, although it could open sandboxes."""

    name, description = "bubblewrap", ""

    async def check(self) -> None:
        pass

    async def probe(self) -> None:
        raise SandboxUnavailable("memory is not limited")


async def test_a_backend_that_fails_its_self_test_is_not_used_for_stored_files(tmp_path):
    manager = SandboxManager(kind="bubblewrap", data_dir=tmp_path, install_id="tests")
    manager.backends = [Unsafe()]
    with pytest.raises(SandboxUnavailable, match="memory is not limited"):
        await manager.choose_backend("bubblewrap")


# --- sweeping and removal -------------------------------------------------------------------------


@only_docker
async def test_a_sweep_spares_a_sandbox_that_a_worker_attached_to_meanwhile(
    backend, open_sandbox, monkeypatch
):
    opened = await open_sandbox(), await open_sandbox()
    used, unused = (each.spec.conversation_id for each in opened)
    started = backend.list_started()
    await opened[0].sandbox.detach()
    again = await open_sandbox(conversation=used, epoch=2)
    assert await backend.sweep(set(), {used: started[used]}) == []
    # Without the margin the other one need not be unused for seconds.
    monkeypatch.setattr("paca.sandbox.docker.backend.CLOCK_MARGIN_SECONDS", 0)
    assert await backend.sweep(set(), {unused: started[unused]}) == [unused]
    assert (await again.bash("echo mine")).output == "mine\n"


@only_docker
async def test_a_sweep_removes_a_runner_that_does_not_answer(backend, open_sandbox, monkeypatch):
    monkeypatch.setattr("paca.sandbox.docker.backend.ATTACH_SECONDS", 0.5)
    handle = await open_sandbox()
    await handle.sandbox.detach()
    os.kill(docker_backend.runner_pid(backend, handle.spec.conversation_id), 19)
    assert await backend.sweep(set(), backend.list_started()) == [handle.spec.conversation_id]
    assert backend.list_started() == {}


@only_docker
async def test_a_container_left_by_a_worker_that_died_while_making_it_is_replaced(
    backend, open_sandbox, monkeypatch
):
    monkeypatch.setattr("paca.sandbox.docker.backend.STARTING_SECONDS", 0.2)
    spec = await _only_created(backend)
    handle = await open_sandbox(conversation=spec.conversation_id)
    assert (await handle.bash("echo fine")).output == "fine\n"


async def _only_created(backend: Docker) -> SandboxSpec:
    """Create a container without starting it."""
    spec = SandboxSpec(uuid.uuid4())
    assert await backend.creator.create_for_conversation(spec, 1) is not None
    return spec


@only_docker
async def test_a_container_that_was_never_started_is_swept(backend, monkeypatch):
    spec = await _only_created(backend)
    assert await backend.sweep(set(), backend.list_started()) == [], (
        "a worker may be about to start it"
    )
    monkeypatch.setattr(container, "OLD_SECONDS", -60)
    assert await backend.sweep(set(), backend.list_started()) == [spec.conversation_id]
    assert await backend.sweep(set(), backend.list_started()) == []
    await backend.remove(spec.conversation_id)


@only_docker
async def test_a_late_removal_spares_the_new_container_of_another_worker(
    backend, open_sandbox, monkeypatch
):
    """Two workers find the same dead container. The slower one must not remove the new one of the faster."""
    old = await open_sandbox()
    conversation = old.spec.conversation_id
    found = await backend.inventory.find_container(conversation)
    await backend.remove_container(conversation)
    new = await open_sandbox(conversation=conversation, epoch=2)

    async def as_found_before(_: uuid.UUID) -> container.Container:
        return found

    with monkeypatch.context() as patch:
        patch.setattr(backend.inventory, "find_container", as_found_before)
        await backend.remove_container(conversation)
    assert (await new.bash("echo mine")).output == "mine\n"


@only_docker
async def test_volumes_without_a_container_are_listed_except_those_of_probes(backend):
    """A worker may die after it made the volume and before it made the container."""
    left, tried = uuid.uuid4(), new_probe_id()
    for conversation in (left, tried):
        labels = container.labels(backend.inventory.install_id, conversation)
        name = container.volume_name(backend.inventory.install_id, conversation)
        await backend.engine.call(
            lambda client, name=name, labels=labels: client.create_volume(name, labels=labels)
        )
    assert set(backend.list_workspaces()) == {left}
    assert backend.list_started() == {}
    for conversation in (left, tried):
        await backend.remove(conversation)
    assert backend.list_workspaces() == {}


@only_docker
async def test_deleting_a_sandbox_leaves_neither_container_nor_volume(backend, open_sandbox):
    handle = await open_sandbox()
    await handle.bash("mkdir -p a/b; touch a/b/c; chmod 0 a/b; ln -s / root; setsid sleep 1234 &")
    conversation = handle.spec.conversation_id
    await backend.remove(conversation)
    await backend.remove(conversation)
    assert backend.list_started() == {}
    volume = container.volume_name(backend.inventory.install_id, conversation)
    with pytest.raises(DockerRefused, match="no such volume"):
        await backend.engine.call(lambda client: client.inspect_volume(volume))


def _create_volume(backend: Docker, name: str) -> None:
    labels = container.labels(backend.inventory.install_id, uuid.uuid4())
    backend.engine.call_sync(lambda client: client.create_volume(name, labels=labels))


def _volumes(backend: Docker) -> set[str]:
    found = backend.engine.call_sync(lambda client: client.volumes())["Volumes"] or ()
    return {each["Name"] for each in found}


@only_docker
async def test_a_volume_with_a_former_name_is_found_and_removed(backend):
    spec = SandboxSpec(uuid.uuid4(), files_backend="docker")
    former = container.former_volume_name(spec.conversation_id)
    _create_volume(backend, former)
    sandbox = await backend.open(spec, epoch=1)
    await write_file(sandbox, "note.txt", "x")
    await sandbox.end()
    assert backend.list_workspaces() == {spec.conversation_id: former}
    again = await backend.open(spec, epoch=2)
    assert await again.read("note.txt") == b"x"
    assert not await backend.remove_files(spec.conversation_id), "the volume is in use"
    await again.end()
    assert await backend.remove_files(spec.conversation_id)
    assert backend.list_workspaces() == {}
    _create_volume(backend, former)
    await backend.remove(spec.conversation_id)
    assert former not in _volumes(backend)


@only_docker
async def test_the_recorded_volume_is_used(backend):
    volume = f"paca-{backend.inventory.install_id}-ws-{uuid.uuid4()}"
    spec = SandboxSpec(uuid.uuid4(), volume=volume)
    sandbox = await backend.open(spec, epoch=1)
    await write_file(sandbox, "note.txt", "x")
    await sandbox.end()
    assert await backend.remove_files(uuid.uuid4()), "another conversation has no files"
    again = await backend.open(spec, epoch=2)
    assert await again.read("note.txt") == b"x"
    await again.end(keep_files=False)
    assert volume not in _volumes(backend)


@only_docker
async def test_labelled_containers_and_volumes_with_foreign_names_are_ignored(
    backend, open_sandbox
):
    handle = await open_sandbox()
    labels = container.labels(backend.inventory.install_id, "no id")
    strange = backend.engine.call_sync(
        lambda client: client.create_container(docker_backend.IMAGE, labels=labels)
    )["Id"]
    _create_volume(backend, f"of-a-person-{backend.inventory.install_id}")
    try:
        assert set(backend.list_started()) == {handle.spec.conversation_id}
        assert set(backend.list_workspaces()) == {handle.spec.conversation_id}
        assert await backend.sweep({handle.spec.conversation_id}) == []
    finally:
        await backend.inventory.remove_container(strange)
        await backend.inventory.remove_volume(f"of-a-person-{backend.inventory.install_id}")


@only_docker
async def test_a_container_of_another_installation_with_a_name_of_this_one_is_ignored(
    backend, monkeypatch
):
    monkeypatch.setattr(container, "OLD_SECONDS", -60)  # a new container is left out anyway
    spec, install_id = SandboxSpec(uuid.uuid4()), backend.inventory.install_id
    volume = container.volume_name(install_id, spec.conversation_id)
    foreign = await backend.creator.create(
        spec,
        1,
        name=container.container_name(install_id, spec.conversation_id),
        volume=volume,
        labels=container.labels(f"{install_id}-another", spec.conversation_id),
    )
    assert foreign is not None
    try:
        assert backend.list_started() == {}
        assert await backend.sweep(set()) == []
    finally:
        await backend.inventory.remove_container(foreign.id)
        await backend.inventory.remove_volume(volume)


# --- the self-test --------------------------------------------------------------------------------

VERSION_1 = {
    "memory": str(2048 << 20),
    "memory_and_swap": str(2048 << 20),
    "processes": "272",
    "cpu_quota": "100000",
    "cpu_period": "100000",
    "oom": "oom_kill_disable 0",
    "swap_there": "1",
    "interfaces": "0",
    "uid": "10001",
    "root_is_writable": "0",
    "CapEff": "0" * 16,
    "CapBnd": "0" * 16,
    "NoNewPrivs": "1",
    "Seccomp": "2",
}
VERSION_2 = {
    **{name: VERSION_1[name] for name in VERSION_1 if not name.startswith(("cpu", "memory_and"))},
    "swap": "0",
    "cpu": "100000 100000",
    "oom": "low 0",
}


@pytest.mark.parametrize("readings", [VERSION_1, VERSION_2], ids=["version 1", "version 2"])
def test_the_self_test_describes_the_limits_that_the_kernel_reports(readings):
    assert self_test.unmet_limits(readings, SandboxLimits()) == []
    assert self_test.describe_limits(readings).startswith("2048 MiB of memory without swap, 1 core")


PROBLEMS = [
    ("memory", "max", "memory"),
    ("memory", str(1 << 63), "memory"),
    ("memory", "", "memory"),
    ("swap", "max", "swap"),
    ("processes", "max", "processes"),
    ("cpu", "max 100000", "processor"),
    ("interfaces", "1", "network"),
    ("uid", "0", "root"),
    ("root_is_writable", "1", "writable"),
    ("CapBnd", "00000000a80425fb", "capabilities"),
    ("NoNewPrivs", "0", "privileges"),
    ("Seccomp", "0", "filter"),
]


@pytest.mark.parametrize(("name", "value", "word"), PROBLEMS)
def test_the_self_test_reports_a_limit_that_is_not_enforced(name, value, word):
    (problem,) = self_test.unmet_limits({**VERSION_2, name: value}, SandboxLimits())
    assert word in problem


def test_the_self_test_reports_limits_that_cannot_be_read():
    assert len(self_test.unmet_limits({}, SandboxLimits())) == 11


def test_the_self_test_needs_no_swap_limit_on_a_machine_without_swap():
    without = {**VERSION_1, "swap_there": "0", "memory_and_swap": ""}
    assert self_test.unmet_limits(without, SandboxLimits()) == []


@docker
async def test_a_container_without_its_limits_is_refused(tmp_path, monkeypatch):
    docker_backend.skip_without()

    def no_limits(limits: SandboxLimits) -> dict:
        return {"Tmpfs": {"/tmp": "", "/home/agent": "mode=1777"}}

    monkeypatch.setattr(container, "_resource_limits", no_limits)
    backend = docker_backend.make(tmp_path)
    with pytest.raises(SandboxUnavailable, match="memory is not limited; .*processes are not"):
        await backend.probe()
    assert backend.list_started() == {}
