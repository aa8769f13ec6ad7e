"""Rows of setups: one worker builds, others wait, a dead worker's build is taken over, and unused ones are removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from paca.accounts.models import AuditEntry
from paca.agents import sandbox_setup
from paca.agents import services as agents
from paca.agents.models import Agent
from paca.bus import get_bus
from paca.bus.base import project_topic
from paca.conversations import sandbox_queries, sandbox_setups, services
from paca.conversations.models import Sandbox, SandboxSetup, SandboxState, SetupState, SetupUse
from paca.projects.services import projects
from paca.sandbox.environment import SetupPlan
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    here = make_world()
    agents.configure(here.agent, by=here.owner, setup_commands="pip install ruff")
    return here


@pytest.fixture
def plan(world: World) -> SetupPlan:
    return plan_of(world)


def plan_of(world: World) -> SetupPlan:
    agent = Agent.objects.select_related("project").get(pk=world.agent.pk)
    found = sandbox_setup.plan_of(agent, agent.project)
    assert found is not None
    return found


def claim(plan: SetupPlan, worker: str = "one", **where: str) -> sandbox_setups.Built:
    where = {"image": "sha256:1", "backend": "docker", "place": "here", **where}
    return sandbox_setups.claim(plan, worker=worker, **where)


def make_ready(plan: SetupPlan) -> UUID:
    files = claim(plan).files
    assert sandbox_setups.finish(files, output="done")
    return files


def test_one_worker_builds_and_the_others_wait(plan: SetupPlan) -> None:
    first, second = claim(plan), claim(plan, "two")
    assert (first.is_mine, second.is_mine) == (True, False)
    assert second.state is SetupState.BUILDING
    assert claim(plan, "two", image="sha256:2").is_mine
    assert claim(plan, "two", place="there").is_mine
    assert sandbox_setups.finish(first.files, output="installed")
    assert claim(plan, "two") == sandbox_setups.Built(SetupState.READY, first.files)


def test_a_dead_workers_build_is_taken_over_and_it_can_store_nothing(plan: SetupPlan) -> None:
    dead = claim(plan).files
    assert sandbox_setups.renew(dead, "so far")
    SandboxSetup.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    taken = claim(plan, "two")
    assert taken.is_mine
    assert taken.files != dead
    assert not sandbox_setups.renew(dead, "more")
    assert not sandbox_setups.finish(dead, output="late")
    sandbox_setups.give_up(dead)
    assert sandbox_setups.in_use() == {taken.files}


def test_a_build_of_an_ended_process_is_taken_over_at_once_and_its_files_go(
    plan: SetupPlan,
) -> None:
    dead = claim(plan).files
    assert not claim(plan, "two").is_mine
    sandbox_setups.end_leases_of(["one"])
    taken = claim(plan, "two")
    assert taken.is_mine
    assert sandbox_setups.in_use() == {taken.files}
    assert removable() == [dead]
    assert not sandbox_setups.renew(dead, "it was not dead")


def test_a_project_keeps_the_setups_that_it_used_last(
    world: World, plan: SetupPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_setups, "MAX_KEPT", 2)
    found = [make_ready(replace(plan, key=f"{number:064}")) for number in range(3)]
    assert removable() == found[:1]


def test_a_setup_that_is_about_to_be_removed_starts_no_sandbox(
    world: World, plan: SetupPlan
) -> None:
    chat = services.start_chat(world.agent, text="Go", by=world.owner).conversation_id
    files = make_ready(plan)
    SandboxSetup.objects.update(last_used_at=timezone.now() - timedelta(days=15))
    assert removable() == [files]
    assert not sandbox_setups.use(chat, files)


def test_a_failure_is_remembered_for_a_while(plan: SetupPlan) -> None:
    files = claim(plan).files
    sandbox_setups.finish(files, output="no network", reason="It failed.")
    assert claim(plan, "two").reason == "It failed."
    SandboxSetup.objects.update(ended_at=timezone.now() - timedelta(seconds=301))
    assert claim(plan, "two").is_mine


def test_a_build_that_was_given_up_is_begun_by_the_next(plan: SetupPlan) -> None:
    sandbox_setups.give_up(claim(plan).files)
    assert claim(plan, "two").is_mine


def test_open_pages_hear_of_each_step_of_a_build(
    world: World,
    plan: SetupPlan,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    heard: list[tuple[str, str, str]] = []
    monkeypatch.setattr(
        get_bus(), "live", lambda topic, frame: heard.append((topic, frame["type"], frame["id"]))
    )

    def told(step: Callable[[], object]) -> int:
        before = len(heard)
        with django_capture_on_commit_callbacks(execute=True):
            step()
        return len(heard) - before

    assert told(lambda: claim(plan)) == 1
    row = SandboxSetup.objects.get()
    assert told(lambda: claim(plan, "two")) == 0, "it only waits"
    assert told(lambda: sandbox_setups.renew(row.files, "begun")) == 1
    assert told(lambda: sandbox_setups.renew(uuid4(), "of nobody")) == 0
    assert told(lambda: sandbox_setups.finish(row.files, output="done")) == 1
    assert told(lambda: sandbox_setups.rebuild(world.agent, plan.key, by=world.owner)) == 1
    assert set(heard) == {(project_topic(world.project.pk), "sandbox_setup.changed", str(row.pk))}
    second = claim(plan).files
    assert told(lambda: sandbox_setups.give_up(second)) == 1


def test_what_the_key_depends_on(world: World) -> None:
    keys = [plan_of(world).key]
    projects.change(world.project, by=world.owner, setup_commands="npm install -g vite")
    assert plan_of(world).commands == "npm install -g vite\npip install ruff"
    keys.append(plan_of(world).key)
    projects.change(world.project, by=world.owner, network="restricted", network_presets=["npm"])
    keys.append(plan_of(world).key)
    other = make_world("Other")
    agents.configure(other.agent, by=other.owner, setup_commands="pip install ruff")
    keys.append(plan_of(other).key)
    assert len(set(keys)) == 4


def test_setups_in_use_stay_and_others_go(world: World, plan: SetupPlan) -> None:
    chat = services.start_chat(world.agent, text="Go", by=world.owner).conversation_id
    files = make_ready(plan)
    assert sandbox_setups.use(chat, files)
    sandbox_setups.retire(files)
    assert not sandbox_setups.use(chat, files)
    assert removable() == []  # the sandbox is about to start
    SetupUse.objects.update(used_at=timezone.now() - timedelta(hours=2))
    assert removable() == [files]
    row = Sandbox.objects.create(
        conversation_id=chat, backend="docker", boot_id="b", last_used_at=timezone.now()
    )
    assert removable() == []
    Sandbox.objects.filter(pk=row.pk).update(state=SandboxState.ENDED)
    assert removable() == [files]
    sandbox_setups.forget(files)
    assert not SandboxSetup.objects.exists()


def removable(place: str = "here") -> list[UUID]:
    return sandbox_setups.removable("docker", place, days=14)


def test_unused_setups_go_after_days_and_those_of_deleted_projects_at_once(
    world: World, plan: SetupPlan
) -> None:
    files = make_ready(plan)
    assert removable() == []
    SandboxSetup.objects.update(last_used_at=timezone.now() - timedelta(days=15))
    assert removable() == [files]
    assert removable("there") == []
    SandboxSetup.objects.update(last_used_at=timezone.now())
    projects.delete(world.project, by=world.owner)
    assert removable() == [files]


def test_files_of_setups_are_no_orphans(world: World, plan: SetupPlan) -> None:
    services.start_chat(world.agent, text="Go", by=world.owner)
    files, orphan = make_ready(plan), uuid4()
    assert sandbox_queries.orphans({files: "", orphan: ""}) == {orphan}


def test_api_shows_the_last_run_and_has_it_built_again(world: World, plan: SetupPlan) -> None:
    api = Api(world.user)
    path = f"/projects/{world.project.pk}/agents/{world.agent.pk}/setup/"
    assert api.get(path).json() == {"commands": "pip install ruff", "builds": []}
    files = claim(plan).files
    host = {"host": "evil.org", "port": 443, "reason": "not_listed"}
    host |= {"connections": 1, "sent_bytes": 0, "received_bytes": 0}
    sandbox_setups.renew(files, "Collecting ruff", [host])
    [shown] = api.get(path).json()["builds"]
    assert (shown["state"], shown["output"], shown["seconds"]) == (
        "building",
        "Collecting ruff",
        None,
    )
    assert "evil.org" in shown["network"][0]["explanation"]
    assert len(api.post(f"{path}rebuild/", {}).json()["builds"]) == 1  # it goes on
    sandbox_setups.finish(files, output="done")
    assert api.post(f"{path}rebuild/", {}).json()["builds"] == []
    assert claim(plan).is_mine
    assert AuditEntry.objects.filter(action="agent.setup_rebuilt").count() == 2
    agents.configure(world.agent, by=world.owner, setup_commands="")
    assert api.get(path).json() == {"commands": "", "builds": []}
