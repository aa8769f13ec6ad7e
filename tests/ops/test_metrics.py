"""Metrics for Prometheus: figures of the whole installation, protected by the token."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from paca.conversations import services
from paca.conversations.models import Conversation, Worker
from tests.support.world import make_world

pytestmark = pytest.mark.django_db

TOKEN = "only-for-these-tests-0123456789"


@pytest.fixture(autouse=True)
def token(settings) -> None:
    settings.METRICS_TOKEN = TOKEN


def ask(client, token: str = TOKEN):
    return client.get("/metrics", headers={"Authorization": f"Bearer {token}"})


def figures(client) -> dict[tuple[str, ...], float]:
    """The value of each metric by its name and labels."""
    families = text_string_to_metric_families(ask(client).content.decode())
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_metrics_cover_workers_queue_conversations_and_costs(client):
    made = make_world()
    services.start_chat(made.agent, text="Go", by=made.owner)
    done = services.start_chat(made.agent, text="Go", by=made.owner).conversation_id
    services.stop(Conversation.objects.get(pk=done), by=made.owner)
    Conversation.objects.filter(pk=done).update(
        input_tokens=1200, output_tokens=30, cost_usd=0.25, unpriced_calls=1
    )
    known = {"host": "h", "pid": 1, "process_started": "1", "concurrency": 4}
    Worker.objects.create(
        id="w", heartbeat_at=timezone.now(), sandbox="docker", sandboxes_reaped=3, **known
    )
    found = figures(client)
    assert found["paca_workers", "working"] == 1
    assert found["paca_worker_room",] == 4
    assert found["paca_sandboxes_reaped",] == 3
    assert found["paca_queue_waiting",] == 1
    assert found["paca_conversations", "queued"] == found["paca_conversations", "stopped"] == 1
    assert found["paca_conversations", "failed"] == 0
    assert found["paca_tokens_total", "input"] == 1200
    assert found["paca_cost_usd_total",] == 0.25
    assert found["paca_unpriced_calls_total",] == 1
    assert found["paca_sandbox_available",] == found["paca_bus_up",] == 1
    assert found["paca_disk_free_bytes",] > 0
    assert found["process_resident_memory_bytes",] > 1e7


def test_metrics_show_that_no_worker_can_run_commands(client):
    assert figures(client)["paca_sandbox_available",] == 0, "there is no worker at all"
    known = {"host": "h", "pid": 1, "process_started": "1", "concurrency": 4}
    told = {"sandbox": "docker", "sandbox_fault": "No daemon answers."}
    Worker.objects.create(id="w", heartbeat_at=timezone.now(), **known, **told)
    assert figures(client)["paca_sandbox_available",] == 0


def test_metrics_need_no_more_queries_for_more_conversations(client):
    made = make_world()
    counts = []
    for more in (1, 10):
        for _ in range(more):
            services.start_chat(made.agent, text="Go", by=made.owner)
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert ask(client).status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}]
)
def test_metrics_are_refused_without_the_token(client, headers):
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"
    assert b"paca_" not in answer.content


def test_metrics_do_not_accept_a_session(admin_client):
    assert admin_client.get("/metrics").status_code == 401


def test_metrics_page_does_not_exist_without_a_token_in_the_settings(client, settings):
    settings.METRICS_TOKEN = ""
    assert ask(client).status_code == 404
    assert ask(client, "").status_code == 404
