"""What setup commands install is in other sandboxes of the backend, where nothing can change it."""

import uuid
from pathlib import Path

import pytest

from paca.engine.workspace import Command
from paca.sandbox.base import SandboxSpec
from paca.sandbox.bubblewrap import bwrap_arguments
from paca.worker.sandboxes.setups import SHARE

pytestmark = [pytest.mark.anyio]
INSTALL = """
mkdir -p bin ~/lib && printf '#!/bin/sh\\necho from the setup\\n' > bin/tool && chmod 700 bin/tool
umask 077 && echo data > ~/lib/data && [ "$HOME" = /opt/setup ] && cd /opt/setup && ls lib
"""
USE = """
tool && cat /opt/setup/lib/data && echo $HOME
for change in 'echo x >> /opt/setup/lib/data' 'rm /opt/setup/bin/tool' 'chmod 777 /opt/setup' 'touch /opt/setup/new'; do
  bash -c "$change" 2>/dev/null && echo "changed by $change"
done; true
"""


@pytest.mark.service
async def test_files_of_a_setup_are_there_for_others_and_read_only(backend):
    files, conversation = uuid.uuid4(), uuid.uuid4()
    assert not await backend.setups.exists(files)
    try:
        built = await backend.open(SandboxSpec(files, builds_setup=True), epoch=1)
        installed = await built.run(Command("1", shell=INSTALL))
        shared = await built.run(Command("2", shell=SHARE))
        await built.end(keep_files=True)
        assert (installed.exit_code, shared.exit_code) == (0, 0), installed.output + shared.output
        assert await backend.setups.exists(files)

        user = await backend.open(SandboxSpec(conversation, setup=files), epoch=1)
        used = await user.run(Command("3", shell=USE))
        await user.detach()
        assert used.output == "from the setup\ndata\n/home/agent\n"
        assert await backend.setups.place() == await backend.setups.place()
    finally:
        await backend.remove(conversation)
        await backend.remove(files)
    assert not await backend.setups.exists(files)


@pytest.mark.service
async def test_a_build_has_the_limits_of_every_sandbox(backend):
    """Its files count as those of a workspace: nothing fills the disk of the server."""
    files = uuid.uuid4()
    try:
        built = await backend.open(SandboxSpec(files, builds_setup=True), epoch=1)
        usage = await built.usage()
        root = await built.run(Command("1", shell="id -u; touch /usr/x || touch /etc/x || echo no"))
        await built.end(keep_files=False)
    finally:
        await backend.remove(files)
    assert usage.limit == 2048 << 20
    assert root.output.splitlines()[-1] == "no"
    assert root.output.splitlines()[0] != "0"


def test_bubblewrap_binds_a_setup_read_only_but_for_its_build() -> None:
    folder = Path("/data/workspaces/one")
    assert bwrap_arguments._setup_mount(None) == []
    assert bwrap_arguments._setup_mount((folder, False))[0] == "--ro-bind"
    assert bwrap_arguments._setup_mount((folder, True))[0] == "--bind"
