"""The columns of a conversation's row that events change, as assignments for the store's UPDATE."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from paca import events
from paca.common.text import to_storable_json
from paca.conversations.models import ConversationStatus
from paca.conversations.models.branches import MAX_BRANCH_CHARACTERS, MAX_URL_CHARACTERS
from paca.conversations.models.statuses import WAITS_WITHOUT_WORKER
from paca.conversations.models.worker_versions import FIRST_VERSION, version_after
from paca.conversations.sql_parameters import datetime_parameter
from paca.engine import after_turn
from paca.events import Event

_STATUS_AFTER: dict[type[Event], ConversationStatus] = {
    events.ConversationQueued: ConversationStatus.QUEUED,
    events.ConversationStarted: ConversationStatus.RUNNING,
    events.ConversationWaiting: ConversationStatus.WAITING,
    events.ConversationPaused: ConversationStatus.PAUSED,
    events.ConversationFinished: ConversationStatus.FINISHED,
    events.ConversationFailed: ConversationStatus.FAILED,
    events.ConversationStopped: ConversationStatus.STOPPED,
}
_ACTIVITY_AFTER: dict[type[Event], str] = {
    events.ConversationQueued: "waiting_for_worker",
    events.ConversationStarted: "thinking",
    events.TurnStarted: "thinking",
    events.UsageRecorded: "thinking",
    events.ToolReturned: "thinking",
    events.ToolStarted: "running_tool",
    events.SandboxStarting: "starting_sandbox",
    events.SandboxProgressed: "starting_sandbox",
    events.SandboxStarted: "running_tool",
    events.ModelRetried: "retrying",
    events.ContextCompacting: "compacting",
    events.ContextCompacted: "thinking",
    events.ConversationWaiting: "",
    events.ConversationResumed: "thinking",
    events.ApprovalGiven: "waiting_for_worker",
    events.ApprovalExpired: "waiting_for_worker",
    events.ApprovalSuperseded: "waiting_for_worker",
    events.QuestionAnswered: "waiting_for_worker",
    events.PlanDecided: "waiting_for_worker",
    events.SubagentsReleased: "waiting_for_worker",
    events.ConversationPaused: "",
    events.ConversationFinished: "",
    events.ConversationFailed: "",
    events.ConversationStopped: "",
}
_ENDS_A_WAIT = (
    events.ApprovalGiven
    | events.ApprovalExpired
    | events.ApprovalSuperseded
    | events.QuestionAnswered
    | events.PlanDecided
    | events.SubagentsReleased
)
# Whether the agent or its project has settings that workers of version 0 would ignore: commands that others may not run,
# limits of disk, the network, images, setup, variables and repositories.
_HAS_NEWER_SETTINGS = """least_worker IS NULL AND (
    EXISTS (SELECT 1 FROM agents_agent a JOIN projects_project p ON p.id = a.project_id
        WHERE a.id = conversations_conversation.agent_id AND (a.allowed_commands IS NOT NULL
            OR a.sandbox_disk_mib IS NOT NULL OR a.sandbox_files IS NOT NULL
            OR a.sandbox_image <> '' OR a.setup_commands <> '' OR p.allowed_commands IS NOT NULL
            OR p.network <> 'none' OR p.sandbox_image <> '' OR p.setup_commands <> ''))
    OR EXISTS (SELECT 1 FROM agents_envvar v WHERE v.agent_id = conversations_conversation.agent_id
        OR v.project_id = conversations_conversation.project_id)
    OR EXISTS (SELECT 1 FROM repositories_repository r
        WHERE r.project_id = conversations_conversation.project_id))"""
_GOES_ON = {"status": ConversationStatus.RUNNING.value, "reason": "", "detail": ""}


def changes_lists(event: Event) -> bool:
    """Whether a list of conversations shows something else after this event."""
    return type(event) in _STATUS_AFTER or isinstance(
        event,
        events.TitleChanged
        | events.ConversationArchived
        | events.ConversationResumed
        | events.FlagsChanged
        | events.BackgroundStarted
        | events.BackgroundFinished
        | events.RepositoryPushed
        | events.PullRequestOpened
        | _ENDS_A_WAIT,
    )


def state_after(new_events: Sequence[Event]) -> dict[str, str]:
    """The activity after these events; empty if none of them changes it."""
    found = [each for event in new_events if (each := _activity_after(event)) is not None]
    return {"activity": found[-1]} if found else {}


def _activity_after(event: Event) -> str | None:
    """The activity that the event tells; None if it tells none. No turn waits for what follows it."""
    # guard: title-is-no-activity
    if isinstance(event, events.UsageRecorded) and event.purpose in after_turn.PURPOSES:
        return None
    return _ACTIVITY_AFTER.get(type(event))


def assignments(
    new_events: Sequence[Event], now: datetime, *, leased: bool
) -> tuple[list[str], list[Any]]:
    """The SQL assignments for these events, and the values of their parameters.

    ``leased``: a worker writes them under its lease, not a person or the system.
    """
    changes: dict[str, Any] = {"updated_at": datetime_parameter(now)}
    added: dict[str, float] = {}
    background = 0
    for event in new_events:
        changes |= _changes(event, now, leased=leased)
        if isinstance(event, events.UsageRecorded | events.ContextCompacted) and event.context:
            changes["context"] = json.dumps(event.context)
        if isinstance(event, events.UsageRecorded):
            _add_usage(added, event)
        background += isinstance(event, events.BackgroundStarted)
        background -= isinstance(event, events.BackgroundFinished)
    columns = [f"{name} = %s" for name in changes] + [f"{name} = {name} + %s" for name in added]
    values = [*changes.values(), *added.values()]
    named, versions = _least_worker(new_events)
    columns, values = columns + named, values + versions
    if background:
        columns.append("background_running = COALESCE(background_running, 0) + %s")
        values.append(background)
    return columns, values


def _least_worker(new_events: Sequence[Event]) -> tuple[list[str], list[Any]]:
    """The assignment of the least worker that knows the work after these events, and its values."""
    column = "least_worker = CASE WHEN {} THEN %s ELSE least_worker END"
    # guard: changed-work-names-its-least-worker
    if version := max(map(version_after, new_events), default=0):
        return [column.format("COALESCE(least_worker, 0) < %s")], [version, version]
    # guard: work-with-newer-settings-names-its-least-worker
    if any(isinstance(event, events.ConversationQueued) for event in new_events):
        return [column.format(_HAS_NEWER_SETTINGS)], [FIRST_VERSION]
    return [], []


def _changes(event: Event, now: datetime, *, leased: bool) -> dict[str, Any]:
    """The columns that one event sets, with their values."""
    changes: dict[str, Any] = {}
    if (activity := _activity_after(event)) is not None:
        changes["activity"] = activity
    if (status := _STATUS_AFTER.get(type(event))) is not None:
        changes |= _status_changes(event, status, now, leased=leased)
    changes |= _approval_changes(event) | _flag_changes(event) | _plan_changes(event)
    match event:
        case events.ConversationResumed():
            changes |= _GOES_ON
        case events.TurnStarted(number=number):
            changes["turn_number"] = number
        case events.TitleChanged(title=title):
            changes["title"] = title[:200]
        case events.MessageReceived() | events.MessageSpoken() | events.ConversationArchived():
            changes |= _changes_of_lists(event, now)
    return changes | _changes_by_step(event)


def _changes_by_step(event: Event) -> dict[str, Any]:
    """What a step of the agent changes."""
    match event:
        case events.UsageRecorded() | events.ToolReturned():
            # The column of ``lost_workers``: a step is stored, and the next lost worker died of another one.
            return {"takeovers": 0}
        case events.TodoChanged():
            found = todo_column(event)
            return {"todo": None if found is None else json.dumps(found)}
        case events.RepositoryPushed(branch=branch):
            return {"branch": branch[:MAX_BRANCH_CHARACTERS]}
        case events.PullRequestOpened(branch=branch, url=url):
            return {"branch": branch[:MAX_BRANCH_CHARACTERS], "pr_url": url[:MAX_URL_CHARACTERS]}
    return {}


def todo_column(event: events.TodoChanged) -> dict[str, Any] | None:
    """The column ``todo`` after this event; None if the list was cleared."""
    return {"items": event.items, "since": event.since} if event.items else None


def _changes_of_lists(event: Event, now: datetime) -> dict[str, Any]:
    """Where lists show the conversation."""
    if isinstance(event, events.ConversationArchived):
        at = datetime_parameter(now) if event.archived else None
        return {"archived_at": at, "files_go": event.files_go}
    return {"last_activity_at": datetime_parameter(now)}


def _flag_changes(event: Event) -> dict[str, Any]:
    """The flags that a person set."""
    if not isinstance(event, events.FlagsChanged):
        return {}
    flags = {"tracing": event.tracing, "teams": event.teams}
    return {name: value for name, value in flags.items() if value is not None}


def _approval_changes(event: Event) -> dict[str, Any]:
    """The columns that the end of a wait sets: any worker may carry the turn on."""
    if isinstance(event, events.ApprovalRevoked):
        return {"rest_approved_by": ""}
    if not isinstance(event, _ENDS_A_WAIT):
        return {}
    if isinstance(event, events.ApprovalGiven) and event.decision == "approve_rest":
        return _GOES_ON | {"rest_approved_by": event.by[:200]}
    return _GOES_ON


def _plan_changes(event: Event) -> dict[str, Any]:
    """Plan mode, and the approved plan."""
    match event:
        case events.FlagsChanged(plan=bool() as plan):
            return {"plan_mode": plan}
        case events.PlanDecided(decision="approve"):
            return {"plan_mode": False, "plan": _plan(event)}
        case events.PlanChanged():
            return {"plan": _plan(event)}
    return {}


def _plan(event: events.PlanDecided | events.PlanChanged) -> str:
    return to_storable_json({"title": event.title, "steps": event.steps})


def _status_changes(
    event: Event, status: ConversationStatus, now: datetime, *, leased: bool
) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "status": status.value,
        "reason": getattr(event, "reason", getattr(event, "code", "")),
        "detail": getattr(event, "message", getattr(event, "detail", "")),
    }
    if status is ConversationStatus.WAITING:
        # The worker keeps its lease meanwhile, unless a person may take hours.
        # guard: waiting-for-a-person-has-no-lease
        if changes["reason"] in WAITS_WITHOUT_WORKER:
            changes |= {"lease_owner": "", "lease_until": None}
        return changes
    if status is ConversationStatus.RUNNING:
        begun = {"started_at": datetime_parameter(now), "finished_at": None}
        return changes | begun | {"queued_at": None}
    if isinstance(event, events.ConversationQueued):
        changes["held"] = event.held
        changes["queued_at"] = datetime_parameter(now)
        # guard: archive-holds-no-work
        changes["archived_at"] = None
    else:
        changes |= {
            "finished_at": datetime_parameter(now),
            "last_activity_at": datetime_parameter(now),
        }
    if leased or status is not ConversationStatus.QUEUED:
        changes |= {"lease_owner": "", "lease_until": None}
    return changes


def _add_usage(added: dict[str, float], event: events.UsageRecorded) -> None:
    for column, amount in (
        ("input_tokens", event.input),
        ("output_tokens", event.output),
        ("cache_read_tokens", event.cache_read),
        ("cache_write_tokens", event.cache_write),
        ("cost_usd", event.cost_usd or 0),
        ("unpriced_calls", 1 if event.cost_usd is None else 0),
    ):
        if amount:
            added[column] = added.get(column, 0) + amount
