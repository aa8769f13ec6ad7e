"""Health checks: liveness uses no database, readiness names the part that is not ready."""

from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from paca.agents import services as agents
from paca.conversations import services
from paca.conversations.models import Conversation, Worker
from paca.ops import worker_status
from paca.worker import claim
from tests.support.world import make_world


def a_worker_is_alive(name: str = "w", **facts: object) -> None:
    known = {"host": "secret-host", "pid": 1, "process_started": "1", "concurrency": 2}
    Worker.objects.create(id=name, heartbeat_at=timezone.now(), **{**known, **facts})


def let_queue_wait(seconds: float) -> None:
    Conversation.objects.update(updated_at=timezone.now() - timedelta(seconds=seconds))


def ask(client) -> dict:
    return client.get("/readyz").json()


def test_liveness_uses_no_database(client):
    # Without the database mark, a query or a new connection is an error here.
    assert connections["default"].connection is None
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert "no-store" in answer.headers["Cache-Control"]
    assert "Set-Cookie" not in answer.headers


@pytest.mark.django_db
def test_readiness_reports_that_no_worker_is_alive(client):
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["status"] == "not ready"
    assert answer.json()["parts"]["workers"] == "none is alive"
    assert answer.json()["parts"]["database"] == "ok"


@pytest.mark.django_db
def test_worker_counts_as_alive_until_its_heartbeat_is_16_seconds_old(client):
    a_worker_is_alive()
    assert ask(client)["parts"]["workers"] == "ok"
    Worker.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=16))
    assert ask(client)["parts"]["workers"] == "none is alive"


@pytest.mark.django_db
def test_draining_workers_are_counted_and_have_no_room(client):
    a_worker_is_alive("one")
    a_worker_is_alive("two", draining=True)
    assert ask(client)["workers"] == {"working": 1, "draining": 1, "room": 2}
    Worker.objects.update(draining=True)
    assert ask(client)["parts"]["workers"] == "all are draining"


@pytest.mark.django_db(transaction=True)
def test_queue_counts_waiting_conversations_and_the_age_of_the_oldest(client):
    here = make_world(limit_concurrent=1)
    other = agents.create(
        here.project,
        role=here.role("agent"),
        by=here.owner,
        name="N",
        handle="n",
        model="demo/guide",
    )
    for agent in (here.agent, other):
        services.start_chat(agent, text="Go", by=here.owner)
    let_queue_wait(7)
    queue = ask(client)["queue"]
    assert queue["waiting"] == 2
    assert 7 <= queue["oldest_seconds"] < 60
    a_worker_is_alive()
    claim.claim("w", lease_seconds=60, limit=2)
    services.start_chat(here.agent, text="Its agent has no hand free", by=here.owner)
    assert ask(client)["queue"] == {"waiting": 0, "oldest_seconds": 0.0}
    assert ask(client)["workers"]["room"] == 0


@pytest.mark.django_db(transaction=True)
def test_queue_is_at_fault_when_free_workers_take_nothing_and_not_when_it_is_long(client):
    here = make_world(limit_concurrent=1)
    services.start_chat(here.agent, text="Go", by=here.owner)
    let_queue_wait(worker_status.QUEUE_STUCK_SECONDS + 15)
    assert ask(client)["parts"]["queue"] == "ok", "that nobody is there is the workers' fault"
    a_worker_is_alive()
    assert "although workers are free" in ask(client)["parts"]["queue"]
    Worker.objects.update(concurrency=0)
    assert ask(client)["parts"]["queue"] == "ok"


@pytest.mark.django_db
def test_sandbox_is_ready_if_one_worker_can_run_commands(client):
    a_worker_is_alive("one", sandbox="docker", sandbox_fault="No daemon at /var/run/docker.sock.")
    assert ask(client)["parts"]["sandbox"] == "unavailable"
    a_worker_is_alive("two", sandbox="docker")
    assert ask(client)["parts"]["sandbox"] == "ok"


@pytest.mark.django_db
def test_sandbox_none_is_no_fault(client):
    a_worker_is_alive(sandbox="none", sandbox_fault="Commands are switched off.")
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_readiness_shows_no_names_or_addresses(client):
    a_worker_is_alive(sandbox="docker", sandbox_fault="No daemon at /var/run/docker.sock.")
    said = client.get("/readyz").content.decode()
    assert "secret-host" not in said
    assert "/" not in said


@pytest.mark.django_db
def test_readiness_reports_a_redis_that_does_not_answer(client, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["parts"]["bus"] == "does not answer"


@pytest.mark.django_db
def test_readiness_reports_a_full_disk(client, settings, monkeypatch):
    monkeypatch.setattr("paca.common.disk_space.MIN_FREE_MIB", 1 << 40)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "MiB free" in answer.json()["parts"]["disk"]


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_health_pages_refuse_post(client, address):
    assert client.post(address).status_code == 405


@pytest.mark.django_db
def test_placement_problem_names_workers_that_share_no_files():
    a_worker_is_alive("one", sandbox="bubblewrap", pid_namespace="boot-1 pid:[1] a")
    a_worker_is_alive("two", sandbox="bubblewrap", pid_namespace="boot-1 pid:[2] b")
    assert worker_status.placement_problem() == ""
    a_worker_is_alive("three", sandbox="bubblewrap", pid_namespace="boot-2 pid:[1] a")
    assert "workers run on 2 hosts" in worker_status.placement_problem()
    Worker.objects.update(sandbox="docker")
    assert worker_status.placement_problem() == ""
    Worker.objects.filter(id="one").update(sandbox="bubblewrap")
    assert "different sandbox backends (bubblewrap, docker)" in worker_status.placement_problem()


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["10.1.2.3:9300", "node-7.internal", "[", ""])
@pytest.mark.parametrize("address", ["/healthz", "/readyz", "/metrics"])
def test_probes_answer_whatever_host_they_name(client, address: str, host: str) -> None:
    assert client.get(address, HTTP_HOST=host).status_code in {200, 503, 404}
    assert client.get("/accounts/login/", HTTP_HOST=host or "?").status_code == 400
