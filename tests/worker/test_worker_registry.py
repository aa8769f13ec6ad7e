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


def test_a_worker_of_this_place_whose_process_is_gone_holds_nothing_any_more(me):
    another()
    assert lease.release_leases_of_dead_workers(me.id) == 1
    assert is_free()
    assert list(Worker.objects.values_list("id", flat=True)) == [me.id]


def test_a_pid_that_another_process_has_now_is_gone(me):
    another(pid=os.getpid(), process_started="1")
    assert lease.release_leases_of_dead_workers(me.id) == 1


def test_a_zombie_is_gone(me):
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
def test_of_a_worker_elsewhere_nothing_is_known_but_its_silence(me, elsewhere):
    """A container sees no process of another one: that says nothing, whatever their names."""
    another(place=elsewhere)
    assert lease.release_leases_of_dead_workers(me.id) == 0
    assert not is_free()
    Worker.objects.filter(id="another").update(
        heartbeat_at=timezone.now() - timedelta(seconds=lease.FORGET_WORKER_SECONDS + 1)
    )
    lease.release_leases_of_dead_workers(me.id)
    assert not Worker.objects.filter(id="another").exists()


def test_a_process_that_proc_hides_may_live(me, monkeypatch):
    def hidden(pid: int) -> str:
        raise FileNotFoundError(f"/proc/{pid}/stat")

    monkeypatch.setattr(worker_registry, "process_start_time", hidden)
    another(pid=os.getppid())
    assert lease.release_leases_of_dead_workers(me.id) == 0
    Worker.objects.filter(id="another").update(pid=NOBODY)
    assert lease.release_leases_of_dead_workers(me.id) == 1


def test_where_processes_cannot_be_told_apart_no_two_workers_are_in_one_place(monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: NOBODY)  # /proc is that of another namespace
    places = {worker_registry.pid_namespace_id.__wrapped__() for _ in range(2)}
    assert len(places) == 2


def test_two_processes_with_one_name_and_pid_are_two_workers(me, monkeypatch):
    monkeypatch.setattr(
        worker_registry, "pid_namespace_id", lambda: "another-boot pid:[1] same-name"
    )
    assert WorkerRegistration(concurrency=1).id != me.id


def test_a_worker_that_was_given_up_enters_itself_again_with_all_it_had_told(me):
    me.update(sandbox="docker")
    keeper = lease.LeaseKeeper(me, seconds=0.3, on_lost=lambda lost: None)
    keeper.start()
    Worker.objects.all().delete()
    wait_until(lambda: Worker.objects.filter(id=me.id).exists())
    keeper.stop()
    assert Worker.objects.get().sandbox == "docker"


def test_whoever_drains_is_alive_and_takes_nothing(me):
    me.update(draining=True)
    assert (Worker.objects.alive().count(), Worker.objects.working().count()) == (1, 0)
