"""The disk of PostgreSQL fills up. Other machines notice it only by a write that fails."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation.api_client import WORK, ApiClient, assert_is_whole
from tests.installation.disk import Disk, mounted
from tests.installation.manage_process import Installation
from tests.support.flow import wait_until
from tests.support.postgres_server import PostgresServer

pytestmark = [pytest.mark.service, pytest.mark.skipif(os.getuid() != 0, reason="mounts a disk")]

SIZE_MIB = 300
PATIENCE = 60
LONG = "Hello, and much more than fits into a page. " * 400


@pytest.fixture
def disk() -> Iterator[Disk]:
    """A disk that PostgreSQL, which does not run as root, can reach."""
    with tempfile.TemporaryDirectory(prefix="paca-full-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        with mounted(Path(name) / "disk", size_mib=SIZE_MIB) as made:
            yield made


@pytest.fixture
def installation(tmp_path: Path, disk: Disk) -> Iterator[Installation]:
    with PostgresServer(disk.place / "server") as postgres:
        installation = Installation(tmp_path / "data", {"DATABASE_URL": postgres.url})
        yield installation
        installation.end()


def test_full_disk_of_postgresql_refuses_new_work_and_loses_no_run(
    installation: Installation, disk: Disk
):
    running = installation.up(WORKER_LEASE_SECONDS="3")
    client = ApiClient(installation, running)
    conversation = client.begin(WORK).json()["conversation"]
    wait_until(lambda: client.has(conversation, "tool.called"), PATIENCE)
    disk.fill(leave_mib=0)
    wait_until(lambda: client.begin(LONG).status != 201, PATIENCE)
    refused = client.begin(LONG)
    assert (refused.status, refused.json()["code"]) == (507, "disk_full")
    assert "free space there" in refused.json()["detail"]
    ready = running.get("/readyz")
    assert (ready.status, "full" in ready.json()["parts"]["disk"]) == (503, True)
    disk.make_room()
    wait_until(lambda: client.is_finished(conversation), PATIENCE)
    assert_is_whole(client.log(conversation))
    wait_until(lambda: running.get("/readyz").status == 200, PATIENCE)
    begun = client.begin(LONG)
    assert begun.status == 201, begun.body
    wait_until(lambda: client.is_finished(begun.json()["conversation"]), PATIENCE)
