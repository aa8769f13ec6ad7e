"""The gate process reads no file of its user but those of its folder, starts no program and has no rights of root."""

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from paca.common.network_policy import CLOSED
from paca.repositories.broker import key
from paca.sandbox.egress.repositories import broker_folder
from tests.sandbox.egress.test_gates import opened as opened
from tests.sandbox.egress.test_gates import pid_of

TRIES = """
import json, os, socket, sys
from pathlib import Path
from paca.sandbox.egress import isolation, repositories
folder, secret = map(Path, sys.argv[1:])
broker = repositories.broker_folder(folder)
assert isolation.isolate(folder)
def fails(what):
    try:
        what()
    except PermissionError:
        return True
    return False
print(json.dumps({
    "reads another file": not fails(secret.read_text),
    "lists another folder": not fails(lambda: list(secret.parent.iterdir())),
    "writes beside its folder": not fails(lambda: (folder.parent / "y").write_text("x")),
    "reads of other processes": not fails(lambda: Path("/proc/1/environ").read_bytes()),
    "reads the key of the broker": not fails((broker / "key").read_text),
    "takes the place of the broker": not fails(lambda: (broker / "control").unlink())
    or not fails(lambda: socket.socket(socket.AF_UNIX).bind(str(broker / "other"))),
    "starts a program": not fails(lambda: os.execv("/bin/true", ["true"])),
    "writes in its folder": not fails(lambda: (folder / "x").write_text("x")),
    "resolves names": bool(socket.getaddrinfo("localhost", 80)),
}))
"""


def test_an_isolated_process_has_its_folder_and_nothing_else(tmp_path: Path) -> None:
    folder, secret = tmp_path / "own", tmp_path / "other" / "keys"
    folder.mkdir()
    secret.parent.mkdir()
    secret.write_text("the key")
    broker = broker_folder(folder)
    broker.mkdir()
    key.create(broker)
    (broker / "control").touch()
    command = [sys.executable, "-c", TRIES, str(folder), str(secret)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    can = {name for name, can in json.loads(found.stdout).items() if can}
    assert can == {"writes in its folder", "resolves names"}


@pytest.mark.anyio
async def test_the_gate_process_is_isolated(opened) -> None:
    await opened.open(uuid.uuid4(), CLOSED)
    status = Path("/proc", str(pid_of(opened.root)), "status").read_text()
    assert "NoNewPrivs:\t1" in status
    assert "CapEff:\t0000000000000000" in status
    assert "CapBnd:\t0000000000000000" in status or "CapPrm:\t0000000000000000" in status
