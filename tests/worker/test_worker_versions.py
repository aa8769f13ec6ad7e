"""Workers of different versions side by side: an older one claims only what it knows how to run."""

from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from paca import events
from paca.agents.models import Agent
from paca.agents.services import variables
from paca.conversations import selectors, services, store
from paca.conversations.models import Conversation, Worker
from paca.conversations.models.worker_versions import WORKER_VERSION
from paca.projects.models import Project
from paca.repositories.services import repositories
from paca.worker import claim
from paca.worker.worker_registry import WorkerRegistration
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db(transaction=True)

MADE: dict[str, dict[str, Any]] = {
    "team": {"teams": True},
    "plan mode": {"plan_mode": True},
    "read-only check-in": {"trigger_type": "check_in"},
    "helper": {"trigger_type": "helper", "read_only": False},
}
CHANGED = {
    "team": events.FlagsChanged(teams=True),
    "plan mode": events.FlagsChanged(plan=True),
    "held work": events.ConversationQueued(trigger="task_assigned", held=True),
}


def ordinary(here: World) -> Conversation:
    started = services.start_chat(here.agent, text="Go", by=here.owner)
    return Conversation.objects.get(pk=started.conversation_id)


def claimed(version: int = WORKER_VERSION) -> list[Any]:
    found = claim.claim("w", lease_seconds=60, limit=9, version=version)
    return [each.lease.conversation_id for each in found]


def add_worker(version: int) -> str:
    row = Worker.objects.create(
        id=f"version {version}",
        host="here",
        pid=1,
        process_started="1",
        concurrency=1,
        version=version,
        heartbeat_at=timezone.now(),
    )
    return row.id


def newer_work(here: World) -> Conversation:
    """Work that needs a newer worker than those of this code."""
    made = ordinary(here)
    Conversation.objects.filter(pk=made.pk).update(least_worker=WORKER_VERSION + 1)
    return selectors.get(here.project, made.pk)


@pytest.mark.parametrize("facts", MADE.values(), ids=MADE)
def test_new_work_names_the_least_worker_that_knows_it(facts):
    here = make_world()
    parent = ordinary(here) if facts.get("trigger_type") == "helper" else None
    made = Conversation.objects.create(
        project=here.project,
        agent=here.agent,
        **{"trigger_type": "chat_message", "parent": parent, **facts},
    )
    assert made.least_worker == 1


@pytest.mark.parametrize("event", CHANGED.values(), ids=CHANGED)
def test_change_of_work_names_the_least_worker_that_knows_it(event):
    conversation = ordinary(make_world())
    assert conversation.least_worker is None
    store.append(conversation.pk, event)
    conversation.refresh_from_db()
    assert conversation.least_worker == 1
    Conversation.objects.update(least_worker=7)
    store.append(conversation.pk, event)
    conversation.refresh_from_db()
    assert conversation.least_worker == 7


SETTINGS: list[dict[str, Any]] = [
    {"allowed_commands": []},
    {"sandbox_image": "paca-sandbox:2"},
    {"setup_commands": "true"},
    {"sandbox_disk_mib": 64},
    {"sandbox_files": 100},
    {"network": "open"},
]


@pytest.mark.parametrize(
    ("owner", "setting"),
    [
        pytest.param(owner, setting, id=f"{owner}-{name}")
        for owner, model in (("agent", Agent), ("project", Project))
        for setting in SETTINGS
        for name in setting
        if hasattr(model, name)
    ],
)
def test_work_under_settings_that_older_workers_ignore_is_left_to_newer_ones(owner, setting):
    here = make_world()
    row = getattr(here, owner)
    type(row).objects.filter(pk=row.pk).update(**setting)
    made = ordinary(here)
    assert made.least_worker == 1
    assert claimed(version=0) == []
    assert claimed() == [made.pk]


@pytest.mark.parametrize("owner", ["agent", "project"])
def test_work_with_variables_is_left_to_newer_workers(owner):
    here, other = make_world("Here"), make_world("Other")
    variables.store(getattr(here, owner), name="LEVEL", value="7", secret=False, by=here.owner)
    assert (ordinary(here).least_worker, ordinary(other).least_worker) == (1, None)


def test_work_with_repositories_is_left_to_newer_workers_from_its_next_message_on():
    here, other = make_world("Here"), make_world("Other")
    begun = ordinary(here)
    repositories.link(here.project, by=here.owner, url="https://git.example/a/b.git")
    assert begun.least_worker is None
    store.append(begun.pk, events.ConversationStarted(model="m", demo=True))
    store.append(begun.pk, events.ConversationFinished())
    services.send(begun, text="And this", by=here.owner)
    begun.refresh_from_db()
    assert (begun.least_worker, ordinary(other).least_worker) == (1, None)


def test_older_worker_leaves_to_newer_ones_what_it_does_not_know():
    here = make_world(limit_concurrent=5)
    led, known = ordinary(here), ordinary(here)
    services.set_flags(led, teams=True, by=here.owner)
    assert claimed(version=0) == [known.pk]
    assert claimed() == [led.pk]


def test_older_worker_does_not_take_over_what_it_does_not_know():
    here = make_world()
    led = ordinary(here)
    services.set_flags(led, teams=True, by=here.owner)
    assert claimed() == [led.pk]
    Conversation.objects.update(lease_until=None)
    assert claimed(version=0) == []
    assert claimed() == [led.pk]


@pytest.mark.parametrize("version", [0, 1])
def test_database_refuses_the_claim_of_a_worker_that_does_not_compare_versions(version):
    led = ordinary(make_world())
    owner = add_worker(version)
    Conversation.objects.update(least_worker=1)
    changed = Conversation.objects.filter(pk=led.pk).update(
        lease_owner=owner, lease_epoch=F("lease_epoch") + 1
    )
    led.refresh_from_db()
    assert (changed == 1) == (led.lease_owner == owner) == (version == 1)


def test_work_that_is_too_new_for_all_workers_says_so():
    here = make_world()
    made = newer_work(here)
    assert made.waits_for == "worker"  # no worker is there
    WorkerRegistration(concurrency=1).register()
    assert selectors.get(here.project, made.pk).waits_for == "newer_worker"
    assert Conversation.objects.get(pk=made.pk).waits_for == "newer_worker"
    add_worker(WORKER_VERSION + 1)
    assert selectors.get(here.project, made.pk).waits_for == "worker"
    Worker.objects.filter(version__gt=WORKER_VERSION).update(draining=True)
    assert selectors.get(here.project, made.pk).waits_for == "newer_worker"


def test_worker_registers_its_version():
    worker = WorkerRegistration(concurrency=1)
    worker.register()
    assert Worker.objects.get(id=worker.id).version == WORKER_VERSION
