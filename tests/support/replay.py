"""Checks that a conversation's log, replayed, gives what its tables and the API say."""

import functools
import json
from typing import Any
from uuid import UUID

from paca.conversations import event_log
from paca.conversations.models import Conversation
from paca.conversations.models.statuses import ENDED_STATUSES
from paca.engine.approvals.plans import PlanState, as_facts
from paca.engine.context.history import History, advance
from paca.engine.tools.background_state import BackgroundState
from paca.projects.models import Member
from tests.support.api import Api
from tests.support.frames import frames_of

IDLE_STATUSES = (*ENDED_STATUSES, "paused")
# The statuses that an event is named after. A conversation that was interrupted goes on at once.
STATUS_AFTER = {
    "agent.conversation.queued": "queued",
    "agent.conversation.started": "running",
    "agent.turn.started": "running",
    "agent.conversation.resumed": "running",
    "agent.conversation.waiting": "waiting",
    "agent.conversation.paused": "paused",
    "agent.conversation.finished": "finished",
    "agent.conversation.failed": "failed",
    "agent.conversation.stopped": "stopped",
}
REQUEST_AFTER = {
    "agent.approval.requested": "open",
    "agent.question.asked": "open",
    "agent.plan.proposed": "open",
    "agent.question.answered": "answered",
    "agent.approval.expired": "expired",
    "agent.approval.superseded": "superseded",
}


def assert_replay_matches(conversation_id: UUID) -> None:
    """The stored events, applied one after another, must give what the tables and the API say."""
    row = Conversation.objects.get(pk=conversation_id)
    _assert_tables_match(row)
    if row.status in IDLE_STATUSES:
        _assert_api_matches(row)


def _assert_tables_match(row: Conversation) -> None:
    log = event_log.load_after(row.pk, 0)
    assert [seq for seq, _ in log] == list(range(1, row.last_seq + 1))
    forks = [seq for seq, event in log if event.type == "agent.conversation.forked"]
    own = [event for seq, event in log if seq > max(forks, default=0)]
    used = [event for event in own if event.type == "agent.usage.recorded"]
    assert row.usage["input"] == sum(event.input or 0 for event in used)
    assert row.usage["output"] == sum(event.output or 0 for event in used)
    history = functools.reduce(
        lambda known, entry: advance(known, entry[1], entry[0]), log, History()
    )
    assert not history.open_calls()
    plan = functools.reduce(lambda known, entry: known.advance(entry[1]), log, PlanState())
    assert bool(row.plan_mode) is plan.mode
    assert (row.plan or {}).get("steps", []) == as_facts(plan.steps)
    background = functools.reduce(
        lambda known, entry: known.advance(entry[1]), log, BackgroundState()
    )
    running = {each.call_id for each in background.running}
    rows = row.background_commands.filter(state="running")
    assert {each.hex for each in rows.values_list("pk", flat=True)} == running
    assert (row.background_running or 0) == len(running)
    assert not row.model_calls.filter(status="started").exists()
    assert not row.tool_calls.filter(state__in=["called", "started"]).exists()
    if row.status in IDLE_STATUSES:
        assert not row.turns.filter(status="running").exists()
        assert row.lease_owner == ""


def _assert_api_matches(row: Conversation) -> None:
    owner = Member.objects.get(project=row.project_id, role__name="Owner", kind="human")
    # A server as in production answers to the names of its settings alone.
    api = Api(owner.user, SERVER_NAME="localhost")
    path = f"/projects/{row.project_id}/conversations/{row.pk}/"
    frames = frames_of(row.pk)
    assert _all_rows(api, f"{path}events/") == frames
    shown = api.get(path).data
    assert shown["last_seq"] == len(frames)
    for name, value in _replayed(frames).items():
        assert str(shown[name]) == str(value), name
    requests = _requests(frames)
    approvals = {
        each["data"]["call_id"] for each in frames if each["type"] == "agent.approval.requested"
    }
    shown_approvals = api.get(f"{path}approvals/").data["results"]
    assert {str(each["call_id"]) for each in shown_approvals} == approvals
    assert dict(row.person_requests.values_list("call_id", "state")) == requests


def _all_rows(api: Api, path: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while True:
        page = json.loads(api.get(f"{path}?after={rows[-1]['seq'] if rows else 0}").content)
        rows += page["results"]
        if not page["results"]:
            return rows


def _replayed(frames: list[dict[str, Any]]) -> dict[str, Any]:
    """What the events say of the conversation, by the field of the API. The last event of a kind counts."""
    known: dict[str, Any] = {"archived": False}
    for frame in frames:
        kind, data = frame["type"], frame["data"]
        if status := STATUS_AFTER.get(kind):
            known |= {"status": status, "reason": data.get("reason", data.get("code", ""))}
        if kind == "agent.conversation.archived":
            known["archived"] = data["archived"]
        elif kind == "agent.conversation.queued":
            known["archived"] = False
        elif kind == "agent.flags.changed" and data["tracing"] is not None:
            known["tracing"] = data["tracing"]
        elif kind == "agent.title.changed":
            known["title"] = data["title"]
    return known


def _requests(frames: list[dict[str, Any]]) -> dict[str, str]:
    """The state of each call that has waited for a person."""
    known: dict[str, str] = {}
    for frame in frames:
        kind, data = frame["type"], frame["data"]
        if kind in REQUEST_AFTER:
            known[data["call_id"]] = REQUEST_AFTER[kind]
        elif kind == "agent.approval.given":
            known[data["call_id"]] = "denied" if data["decision"] == "deny" else "approved"
        elif kind == "agent.plan.decided":
            known[data["call_id"]] = "approved" if data["decision"] == "approve" else "denied"
    return known
