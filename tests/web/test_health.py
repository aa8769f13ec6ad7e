"""Health answers: alive touches nothing, ready names the part that is not."""

from datetime import timedelta

import pytest
from django.utils import timezone

from paca.conversations.models import Worker


def a_worker_is_alive() -> None:
    Worker.objects.create(
        id="w", host="here", pid=1, process_started="1", concurrency=1, heartbeat_at=timezone.now()
    )


def test_alive_touches_nothing(client):
    # Without the database mark any query is an error here.
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert "no-store" in answer.headers["Cache-Control"]
    assert "Set-Cookie" not in answer.headers


@pytest.mark.django_db
def test_ready_names_a_worker_that_gives_no_sign_of_life(client):
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["status"] == "not ready"
    assert answer.json()["parts"]["worker"] == "no sign of life"
    assert answer.json()["parts"]["database"] == "ok"


@pytest.mark.django_db
def test_a_worker_is_ready_until_its_heartbeat_is_older_than_a_lease(client, settings):
    a_worker_is_alive()
    assert client.get("/readyz").json()["parts"]["worker"] == "ok"
    Worker.objects.update(
        heartbeat_at=timezone.now() - timedelta(seconds=settings.WORKER_LEASE_SECONDS + 1)
    )
    assert client.get("/readyz").json()["parts"]["worker"] == "no sign of life"


@pytest.mark.django_db
def test_commands_refused_on_purpose_are_no_fault(client, settings):
    settings.PACA_SANDBOX = "none"
    a_worker_is_alive()
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_ready_names_a_full_disk(client, settings, monkeypatch):
    monkeypatch.setattr("paca.web.preflight.LEAST_FREE_MIB", 1 << 40)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "MiB free" in answer.json()["parts"]["disk"]


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_health_is_only_read(client, address):
    assert client.post(address).status_code == 405
