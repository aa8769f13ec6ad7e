"""The worker registry: which workers have ended, and which only seem to."""

import os
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from paca.conversations import services
from paca.conversations.models import Conversation, Worker
from paca.worker import claim, lease, worker_registry
from paca.worker.worker_registry import WorkerRegistration
from tests.support.flow import wait_until
from tests.support.world import make_world

pytestmark = pytest.mark.django_db(transaction=True)

UNUSED_PID = 4_194_305  # above the largest pid that Linux gives


@pytest.fixture
def registration() -> WorkerRegistration:
    found = WorkerRegistration(concurrency=1)
    found.register()
    return found


def dead_worker(**facts: object) -> Worker:
    """A worker of this host that has died, with a claimed conversation."""
    known = {
        "id": "another",
        "host": "here",
        "pid_namespace": worker_registry.pid_namespace_id(),
        "pid": UNUSED_PID,
        "process_started": "1",
        "concurrency": 1,
        "heartbeat_at": timezone.now(),
    }
    made = make_world()
    services.start_chat(made.agent, text="Go", by=made.owner)
    (claimed,) = claim.claim("another", lease_seconds=60, limit=1)
    assert claimed.lease.owner == "another"
    return Worker.objects.create(**{**known, **facts})


def is_released() -> bool:
    return Conversation.objects.get().lease_until is None


def test_leases_of_a_dead_worker_in_this_pid_namespace_are_released(registration):
    dead_worker()
    assert lease.end_leases_of_dead_workers(registration.id) == 1
    assert is_released()
    assert list(Worker.objects.values_list("id", flat=True)) == [registration.id]


def test_process_whose_pid_was_reused_has_ended(registration):
    dead_worker(pid=os.getpid(), process_started="1")
    assert lease.end_leases_of_dead_workers(registration.id) == 1


def test_zombie_process_has_ended(registration):
    child = subprocess.Popen(["true"])
    try:
        # It has ended, and its parent has not waited for it.
        wait_until(
            lambda: Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        )
        assert worker_registry.process_has_ended(child.pid, "1")
    finally:
        child.wait()


@pytest.mark.parametrize(
    "elsewhere",
    [
        "another-boot pid:[4026531836] worker",
        worker_registry.pid_namespace_id().replace("pid:[", "pid:[1"),
        f"{worker_registry.pid_namespace_id()}-2",
        "",
    ],
    ids=["another machine", "another pid namespace", "another name", "an older version"],
)
def test_leases_of_a_worker_elsewhere_are_kept_until_it_is_silent_for_long(registration, elsewhere):
    """A container sees no process of another one, so it cannot tell whether that one is dead."""
    dead_worker(pid_namespace=elsewhere)
    assert lease.end_leases_of_dead_workers(registration.id) == 0
    assert not is_released()
    Worker.objects.filter(id="another").update(
        heartbeat_at=timezone.now() - timedelta(seconds=lease.FORGET_WORKER_SECONDS + 1)
    )
    lease.end_leases_of_dead_workers(registration.id)
    assert not Worker.objects.filter(id="another").exists()


def test_process_that_proc_hides_may_be_alive(registration, monkeypatch):
    def hidden(pid: int) -> str:
        raise FileNotFoundError(f"/proc/{pid}/stat")

    monkeypatch.setattr(worker_registry, "process_start_time", hidden)
    dead_worker(pid=os.getppid())
    assert lease.end_leases_of_dead_workers(registration.id) == 0
    Worker.objects.filter(id="another").update(pid=UNUSED_PID)
    assert lease.end_leases_of_dead_workers(registration.id) == 1


def test_pid_namespace_id_is_unique_if_the_namespace_cannot_be_read(monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: UNUSED_PID)  # /proc is that of another namespace
    places = {worker_registry.pid_namespace_id.__wrapped__() for _ in range(2)}
    assert len(places) == 2


def test_worker_id_differs_for_equal_host_names_and_pids(registration, monkeypatch):
    monkeypatch.setattr(
        worker_registry, "pid_namespace_id", lambda: "another-boot pid:[1] same-name"
    )
    assert WorkerRegistration(concurrency=1).id != registration.id


def test_heartbeat_registers_a_forgotten_worker_again_with_all_its_facts(registration):
    registration.update(sandbox="docker")
    keeper = lease.LeaseKeeper(registration, seconds=0.3, on_lost=lambda lost: None)
    keeper.start()
    Worker.objects.all().delete()
    wait_until(lambda: Worker.objects.filter(id=registration.id).exists())
    keeper.stop()
    assert Worker.objects.get().sandbox == "docker"


def test_draining_worker_is_alive_and_not_working(registration):
    registration.update(draining=True)
    assert (Worker.objects.alive().count(), Worker.objects.working().count()) == (1, 0)
