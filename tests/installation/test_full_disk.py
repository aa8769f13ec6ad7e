"""A disk that fills up: new work is refused in time, no run is lost, and free space ends it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation.api_client import WORK, ApiClient, assert_is_whole
from tests.installation.disk import Disk, mounted
from tests.installation.manage_process import Installation
from tests.support.flow import wait_until

pytestmark = [pytest.mark.service, pytest.mark.skipif(os.getuid() != 0, reason="mounts a disk")]

SIZE_MIB = 1200  # the limits are in paca/common/disk_space.py
PATIENCE = 60


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with mounted(tmp_path / "disk", size_mib=SIZE_MIB) as made:
        yield made


@pytest.fixture
def installation(disk: Disk, first_start_data: Path) -> Iterator[Installation]:
    installation = Installation(disk.place / "data")
    shutil.copytree(first_start_data, installation.data, symlinks=True)
    yield installation
    installation.end()


def test_new_work_is_refused_below_the_disk_limit_and_accepted_once_space_is_free(
    installation: Installation, disk: Disk
):
    running = installation.up()
    client = ApiClient(installation, running)
    disk.fill(leave_mib=300)
    refused = client.begin("Hello")
    assert refused.status == 507
    assert refused.json()["code"] == "disk_full"
    assert "free space" in refused.json()["detail"]
    assert running.get("/readyz").status == 503
    assert "MiB free" in running.get("/readyz").json()["parts"]["disk"]
    disk.make_room()
    begun = client.begin("Hello")
    assert begun.status == 201, begun.body
    wait_until(lambda: client.is_finished(begun.json()["conversation"]), PATIENCE)


def test_full_disk_loses_no_run(installation: Installation, disk: Disk):
    running = installation.up(WORKER_LEASE_SECONDS="3")
    client = ApiClient(installation, running)
    conversation = client.begin(WORK).json()["conversation"]
    wait_until(lambda: client.has(conversation, "tool.called"), PATIENCE)
    disk.fill(leave_mib=0)
    wait_until(lambda: any("full" in line for line in running.lines), PATIENCE)
    assert running.process.poll() is None
    disk.make_room()
    wait_until(lambda: client.is_finished(conversation), PATIENCE)
    assert_is_whole(client.log(conversation))
