"""The files of skills: in the sandbox at /skills, and nothing in it can change them."""

import uuid
from pathlib import Path

import pytest

from paca.sandbox.base import Backend, SandboxFile, SandboxLimits, SandboxSpec
from tests.sandbox.conftest import SandboxHandle, only_docker
from tests.support import docker_backend

pytestmark = [pytest.mark.anyio, pytest.mark.service]
FILES = (
    SandboxFile("boats/plan.md", "Zwölf Spanten\n".encode()),
    SandboxFile("boats/scripts/deep/run.sh", b"#!/bin/sh\necho ran\n"),
    SandboxFile("logo.bin", b"\0\xff" * 9),
)
LIST = "cd /skills && find . -type f | sort && sha256sum $(find . -type f | sort)"
# Each of these tries to change what is there; none may succeed.
ATTEMPTS = (
    "echo x > /skills/boats/plan.md",
    "echo x >> /skills/boats/plan.md",
    "echo x > /skills/new",
    "echo x > /skills/boats/new",
    "mkdir /skills/folder",
    "rm -f /skills/boats/plan.md",
    "rm -rf /skills/boats",
    "mv /skills/boats /skills/ships",
    "mv /skills /tmp/skills",
    "chmod 777 /skills",
    "chmod 666 /skills/boats/plan.md",
    "touch -d 2001-01-01 /skills/boats/plan.md",
    "ln -s /tmp /skills/link",
    "ln -f /workspace/own /skills/boats/plan.md",
    "truncate -s 0 /skills/logo.bin",
    "mount -o remount,rw /skills",
    "umount /skills",
    "mount -t tmpfs none /skills",
    "unshare -rm mount -t tmpfs none /skills",
)


def spec_with(files: tuple[SandboxFile, ...], conversation: uuid.UUID | None = None) -> SandboxSpec:
    async def read() -> tuple[SandboxFile, ...]:
        return files

    return SandboxSpec(conversation or uuid.uuid4(), SandboxLimits(), read_files=read)


async def test_files_are_there_and_no_command_changes_them(backend: Backend) -> None:
    spec = spec_with(FILES)
    sandbox = await backend.open(spec, epoch=1)
    try:
        handle = SandboxHandle(sandbox, spec)
        before = await handle.bash(f"cat /skills/boats/plan.md; {LIST}")
        assert before.output.startswith("Zwölf Spanten\n")
        assert (await handle.bash("/skills/boats/scripts/deep/run.sh")).output == "ran\n"
        await handle.write("own", "mine")
        for attempt in ATTEMPTS:
            outcome = await handle.bash(attempt)
            assert outcome.exit_code != 0, attempt
        after = await handle.bash(f"cat /skills/boats/plan.md; {LIST}")
        assert after.output == before.output
    finally:
        await sandbox.end(keep_files=False)


async def test_next_start_has_the_files_as_they_are_then(backend: Backend) -> None:
    first = spec_with(FILES)
    sandbox = await backend.open(first, epoch=1)
    await SandboxHandle(sandbox, first).bash("echo kept > /workspace/own")
    await sandbox.end()
    changed = spec_with((SandboxFile("boats/plan.md", b"Ten ribs\n"),), first.conversation_id)
    sandbox = await backend.open(changed, epoch=2)
    seen = await SandboxHandle(sandbox, changed).bash("cat own /skills/boats/plan.md; ls /skills")
    assert seen.output == "kept\nTen ribs\nboats\n"
    await sandbox.end()
    without = SandboxSpec(first.conversation_id)
    sandbox = await backend.open(without, epoch=3)
    try:
        assert (await SandboxHandle(sandbox, without).bash("ls -d /skills")).exit_code != 0
    finally:
        await sandbox.end(keep_files=False)


async def test_as_many_files_as_an_agent_may_have_reach_its_sandbox(backend: Backend) -> None:
    many = tuple(SandboxFile(f"s{n % 7}/{'d' * 50}/{n}.txt", b"x" * 999) for n in range(200))
    spec = spec_with(many)
    sandbox = await backend.open(spec, epoch=1)
    try:
        counted = await SandboxHandle(sandbox, spec).bash("cat $(find /skills -type f) | wc -c")
        assert counted.output.strip() == str(200 * 999)
    finally:
        await sandbox.end(keep_files=False)


@only_docker
async def test_volume_of_the_files_goes_with_the_container(backend: Backend) -> None:
    docker = docker_backend.make(Path("of-skill-files"))
    spec = spec_with(FILES)
    sandbox = await docker.open(spec, epoch=1)
    mounts = docker_backend.described(docker, spec.conversation_id)["Mounts"]
    [volume] = [mount["Name"] for mount in mounts if mount["Destination"] == "/skills"]
    await sandbox.end(keep_files=False)
    listed = docker.engine.call_sync(lambda client: client.volumes())["Volumes"] or []
    assert volume not in [each["Name"] for each in listed]
    assert docker.list_workspaces().get(spec.conversation_id) is None


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/.", "a/"])
async def test_path_that_leads_out_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="no path of a file"):
        SandboxFile(path, b"")
