"""Removes data that is older than its keep time: files of sandboxes, full outputs, traces and conversations.

Only conversations that have ended are touched, but for traces, which go by the age of each call. Each is removed in a transaction of its own that looks at
it once more, so a process that dies leaves whole conversations behind, and the next removal goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Length
from django.utils import timezone

from paca.accounts import audit
from paca.common.best_effort import tolerated
from paca.common.errors import Conflict, NotFound
from paca.conversations import deletion, full_outputs
from paca.conversations.models import (
    Conversation,
    Event,
    FullOutput,
    SandboxState,
    Trace,
    TracedCall,
)
from paca.conversations.models.statuses import ENDED_STATUSES
from paca.conversations.traces import store as traces

MAX_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class OldData:
    """What one keep time would remove. ``days`` is 0 if there is no keep time: nothing is removed.

    ``conversations`` is their number, ``size_bytes`` the space of these data; null where it is not known.
    """

    kind: str
    setting: str
    days: int
    conversations: int
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class KeepTimes:
    """Days after the last use of an ended conversation; 0 keeps for ever."""

    workspaces: int = 0
    outputs: int = 0
    conversations: int = 0
    traces: int = 0

    @classmethod
    def from_settings(cls) -> KeepTimes:
        """The keep times of this installation."""
        return cls(
            settings.KEEP_WORKSPACE_DAYS,
            settings.KEEP_OUTPUT_DAYS,
            settings.KEEP_CONVERSATION_DAYS,
            settings.KEEP_TRACE_DAYS,
        )


def find_old_data(keep: KeepTimes) -> list[OldData]:
    """What ``remove_old_data`` would remove now, kind by kind. Changes nothing."""
    outputs, conversations = _with_old_outputs(keep.outputs), _old(keep.conversations)
    stored = FullOutput.objects.filter(call__conversation__in=outputs)
    return [
        OldData(
            "files of sandboxes",
            "KEEP_WORKSPACE_DAYS",
            keep.workspaces,
            _with_old_workspace(keep.workspaces).count(),
            _workspace_bytes(_with_old_workspace(keep.workspaces)),
        ),
        OldData(
            "full outputs",
            "KEEP_OUTPUT_DAYS",
            keep.outputs,
            outputs.count(),
            stored.aggregate(n=Sum("stored_bytes", default=0))["n"],
        ),
        OldData("traces", "KEEP_TRACE_DAYS", keep.traces, *_old_traces(keep.traces)),
        OldData(
            "conversations",
            "KEEP_CONVERSATION_DAYS",
            keep.conversations,
            conversations.count(),
            stored_bytes(conversations),
        ),
    ]


def remove_old_data(
    keep: KeepTimes, *, may_go_on: Callable[[], bool] = lambda: True
) -> dict[str, int]:
    """Remove what is older than its keep time; gives the number of conversations of each kind.

    The files of a sandbox are only marked here, and removed by a worker's sweep. ``may_go_on`` is asked
    before each conversation.
    """
    steps = {
        "files of sandboxes": (_with_old_workspace(keep.workspaces), _delete_workspace),
        "full outputs": (_with_old_outputs(keep.outputs), _delete_outputs),
        "traces": (_with_old_traces(keep.traces), traces.drop_before),
        "conversations": (_old(keep.conversations), _delete_conversation),
    }
    days = (keep.workspaces, keep.outputs, keep.traces, keep.conversations)
    removed = {}
    for kept_days, (kind, (rows, remove)) in zip(days, steps.items(), strict=True):
        before, removed[kind] = _before(kept_days), 0
        for conversation_id in list(rows.values_list("pk", flat=True)):
            if not may_go_on():
                return removed
            with tolerated("removal of old data"):
                removed[kind] += remove(conversation_id, before)
    return removed


def stored_bytes(conversations: QuerySet[Conversation]) -> int:
    """About how much the logs, full outputs and traces of these conversations take in the database."""
    logs = Event.objects.filter(conversation__in=conversations)
    sizes = logs.aggregate(own=Sum(Length("payload"), default=0), large=Sum(Length("blob__body")))
    outputs = FullOutput.objects.filter(call__conversation__in=conversations)
    kept = outputs.aggregate(n=Sum("stored_bytes", default=0))["n"]
    traced = Trace.objects.filter(conversation__in=conversations)
    kept += traced.aggregate(n=Sum("stored_bytes", default=0))["n"]
    return int(sizes["own"] + (sizes["large"] or 0) + kept)


# --- what is old ----------------------------------------------------------------------------------


def _before(days: int) -> datetime:
    return timezone.now() - timedelta(days=min(days, MAX_DAYS))


def _old(days: int) -> QuerySet[Conversation]:
    if not days:
        return Conversation.objects.none()
    return Conversation.objects.filter(
        status__in=ENDED_STATUSES, deleted_at=None, last_activity_at__lt=_before(days), parent=None
    )


def _with_old_workspace(days: int) -> QuerySet[Conversation]:
    used_before = Q(sandbox__last_used_at__lt=_before(days))
    rows = _old(days).filter(used_before, sandbox__isnull=False)
    return rows.exclude(sandbox__state=SandboxState.FILES_TO_DELETE)


def _workspace_bytes(conversations: QuerySet[Conversation]) -> int | None:
    """What these workspaces held when they were last used; None if that of none was measured."""
    found: int | None = conversations.aggregate(n=Sum("sandbox__workspace_bytes"))["n"]
    return found


def _with_old_outputs(days: int) -> QuerySet[Conversation]:
    return _old(days).filter(tool_calls__full_output__isnull=False).distinct()


def _with_old_traces(days: int) -> QuerySet[Conversation]:
    """Also of conversations that are in use: a trace is kept for a set time."""
    return traces.with_calls_before(_before(days)) if days else Conversation.objects.none()


def _old_traces(days: int) -> tuple[int, int]:
    """The number of conversations with old traces, and about the space of these."""
    if not days:
        return 0, 0
    calls = TracedCall.objects.filter(asked_at__lt=_before(days))
    size = calls.aggregate(n=Sum(Length("contents"), default=0))["n"]
    return _with_old_traces(days).count(), int(size)


# --- removal of one conversation's data -----------------------------------------------------------


def _delete_workspace(conversation_id: UUID, before: datetime) -> bool:
    try:
        deletion.delete_files(Conversation(pk=conversation_id), by=None, if_unused_since=before)
    except (Conflict, NotFound):  # it was used, or removed by somebody else, a moment ago
        return False
    return True


@transaction.atomic
def _delete_outputs(conversation_id: UUID, before: datetime) -> bool:
    """Delete the downloads of long outputs. Head and tail of each stay in the log."""
    try:
        current = deletion.lock(Conversation(pk=conversation_id), if_unused_since=before)
    except (Conflict, NotFound):
        return False
    full_outputs.delete_all(current)
    audit.record("conversation.outputs_removed", current, by=None, project_id=current.project_id)
    return True


def _delete_conversation(conversation_id: UUID, before: datetime) -> bool:
    try:
        deletion.delete(Conversation(pk=conversation_id), by=None, if_unused_since=before)
    except (Conflict, NotFound):
        return False
    return True
