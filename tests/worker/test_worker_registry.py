"""Which workers are gone, and which only look like it."""

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

NOBODY = 4_194_305  # above the largest pid that Linux gives


@pytest.fixture
def me() -> WorkerRegistration:
    found = WorkerRegistration(concurrency=1)
    found.register()
    return found


def another(**facts: object) -> Worker:
    """A worker that has died here, with a conversation in its hands."""
    known = {
        "id": "another",
        "host": "here",
        "place": worker_registry.pid_namespace_id(),
        "pid": NOBODY,
        "process_started": "1",
        "concurrency": 1,
        "heartbeat_at": timezone.now(),
    }
    made = make_world()
    services.start_chat(made.agent, text="Go", by=made.owner)
    (claimed,) = claim.claim("another", lease_seconds=60, limit=1)
    assert claimed.lease.owner == "another"
    return Worker.objects.create(**{**known, **facts})


def is_free() -> bool:
    return Conversation.objects.get().lease_until is None


def test_leases_of_a_dead_worker_in_this_pid_namespace_are_released(me):
    another()
    assert lease.release_leases_of_dead_workers(me.id) == 1
    assert is_free()
    assert list(Worker.objects.values_list("id", flat=True)) == [me.id]


def test_process_whose_pid_was_reused_has_ended(me):
    another(pid=os.getpid(), process_started="1")
    assert lease.release_leases_of_dead_workers(me.id) == 1


def test_zombie_process_has_ended(me):
    child = subprocess.Popen(["true"])
    try:
        # It has ended, and nobody has asked for its end.
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
def test_leases_of_a_worker_elsewhere_are_kept_until_it_is_silent_for_long(me, elsewhere):
    """A container sees no process of another one: that says nothing, whatever their names."""
    another(place=elsewhere)
    assert lease.release_leases_of_dead_workers(me.id) == 0
    assert not is_free()
    Worker.objects.filter(id="another").update(
        heartbeat_at=timezone.now() - timedelta(seconds=lease.FORGET_WORKER_SECONDS + 1)
    )
    lease.release_leases_of_dead_workers(me.id)
    assert not Worker.objects.filter(id="another").exists()


def test_process_that_proc_hides_may_be_alive(me, monkeypatch):
    def hidden(pid: int) -> str:
        raise FileNotFoundError(f"/proc/{pid}/stat")

    monkeypatch.setattr(worker_registry, "process_start_time", hidden)
    another(pid=os.getppid())
    assert lease.release_leases_of_dead_workers(me.id) == 0
    Worker.objects.filter(id="another").update(pid=NOBODY)
    assert lease.release_leases_of_dead_workers(me.id) == 1


def test_pid_namespace_id_is_unique_if_the_namespace_cannot_be_read(monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: NOBODY)  # /proc is that of another namespace
    places = {worker_registry.pid_namespace_id.__wrapped__() for _ in range(2)}
    assert len(places) == 2


def test_worker_id_differs_for_equal_host_names_and_pids(me, monkeypatch):
    monkeypatch.setattr(
        worker_registry, "pid_namespace_id", lambda: "another-boot pid:[1] same-name"
    )
    assert WorkerRegistration(concurrency=1).id != me.id


def test_heartbeat_registers_a_forgotten_worker_again_with_all_its_facts(me):
    me.update(sandbox="docker")
    keeper = lease.LeaseKeeper(me, seconds=0.3, on_lost=lambda lost: None)
    keeper.start()
    Worker.objects.all().delete()
    wait_until(lambda: Worker.objects.filter(id=me.id).exists())
    keeper.stop()
    assert Worker.objects.get().sandbox == "docker"


def test_draining_worker_is_alive_and_not_working(me):
    me.update(draining=True)
    assert (Worker.objects.alive().count(), Worker.objects.working().count()) == (1, 0)
