"""Faults around a run: people read how to repair them, and the worker survives."""

from dataclasses import replace

import pytest
from django.db import IntegrityError, OperationalError

from paca.agents.models import Agent
from paca.conversations import store
from paca.engine.workspace import SandboxUnavailable
from paca.sandbox.manager import SandboxManager
from paca.worker.claim import MAX_LOST_WORKERS
from tests.support.flow import Flow, assert_replay_matches, wait_until
from tests.support.model_script import calls, fails, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


def test_conversation_does_not_wait_for_a_run_that_only_waits(transactional_db, tmp_path):
    """One slot: the run in its back-off lends it, and is stopped in its wait as at any other moment."""
    with Flow(tmp_path, worker={"concurrency": 1}) as flow:
        flow.model.script([replace(fails("429"), retry_after="60"), says("Meanwhile.")])
        waiting = flow.begin("First")
        wait_until(lambda: waiting.has_event("model.retried"))
        other = flow.ask("Second")
        assert (other.answers, waiting.row.status) == (["Meanwhile."], "running")
        flow.stop(waiting)
        flow.wait_until_idle(waiting)
        assert waiting.status == "stopped/by_person"


def test_worker_survives_a_sandbox_that_cannot_be_swept(flow, monkeypatch):
    tried = []

    async def locked(self, keep, lives):
        tried.append(keep)
        raise SandboxUnavailable("Another worker is busy with this sandbox.")

    monkeypatch.setattr(SandboxManager, "sweep", locked)
    monkeypatch.setattr("paca.worker.sandboxes.sweeper.SWEEP_SECONDS", 0.5)
    wait_until(lambda: len(tried) >= 2)
    assert flow.ask("Hello", [says("Still here.")]).answers == ["Still here."]


def test_unreadable_api_key_fails_with_the_setting_to_repair(flow):
    Agent.objects.update(encrypted_key="stored under another key")
    conversation = flow.begin("Hello")
    assert flow.wait_until_idle(conversation) == "failed/configuration"
    (failed,) = conversation.event_data("conversation.failed")
    assert "ENCRYPTION_KEY" in failed["message"]
    assert flow.model.requests == []
    assert_replay_matches(conversation)


def test_run_fails_once_if_the_database_refuses_its_event_for_good(flow, monkeypatch):
    append = store.append

    def fail(conversation_id, *entries, **options):
        if any(getattr(entry, "type", "") == "agent.tool.called" for entry in entries):
            raise IntegrityError("too long")
        return append(conversation_id, *entries, **options)

    monkeypatch.setattr(store, "append", fail)
    conversation = flow.begin("Hello", [calls(bash="true"), says("Never asked.")])
    assert flow.wait_until_idle(conversation) == "failed/internal"
    assert len(flow.model.requests) == 1


@pytest.mark.parametrize("error", [IntegrityError("never"), OperationalError("away")])
def test_step_that_the_database_refuses_again_and_again_is_parked(flow, monkeypatch, error):
    """Also if the database reports that it is unavailable, and answers nevertheless."""
    append = store.append

    def fail(conversation_id, *entries, **options):
        if any(getattr(entry, "type", "") == "agent.conversation.finished" for entry in entries):
            raise error
        return append(conversation_id, *entries, **options)

    monkeypatch.setattr(store, "append", fail)
    conversation = flow.begin("Hello", [says("Once more.")] * (MAX_LOST_WORKERS + 1))
    assert flow.wait_until_idle(conversation) == "paused/parked"
    assert len(flow.model.requests) == MAX_LOST_WORKERS
    assert_replay_matches(conversation)
