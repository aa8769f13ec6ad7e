"""The queries of a claim: which conversations wait for a worker, in what order, and what a claim compares."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import (
    Case,
    CharField,
    Count,
    DateTimeField,
    DurationField,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    UUIDField,
    Value,
    When,
    Window,
)
from django.db.models.functions import Coalesce, Now, RowNumber
from django.utils import timezone

from paca.agents.models import Agent
from paca.agents.models.choices import AgentPriority
from paca.common.prepared_queries import Parameter, Select, Update
from paca.conversations.models import (
    ControlCommand,
    Conversation,
    ConversationStatus,
    PendingKind,
    PendingTrigger,
    Trigger,
    TriggerState,
    TriggerType,
)
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.conversations.models.worker_versions import WORKER_VERSION

MAX_CANDIDATES = 50
WAITS_FOR_WORKER = "waiting_for_worker"  # an activity
# Work that has waited so long comes before work of a higher priority in its project.
AGED_AFTER = timedelta(minutes=10)
# Goes on after a wait for a person, and has no worker yet.
DECIDED = Q(activity=WAITS_FOR_WORKER, lease_owner="")


class ClaimCandidate(NamedTuple):
    """The columns of a waiting conversation that a claim compares."""

    id: UUID
    agent_id: UUID
    status: str
    lease_owner: str
    lease_epoch: int
    lost_workers: int
    activity: str
    trigger_type: str


def claimable(
    *, version: int | Parameter = WORKER_VERSION, aged: datetime | Parameter | None = None
) -> QuerySet[Conversation]:
    """Conversations that a worker of this version can claim now, in the order of ``_in_fair_order``.

    ``aged``: work that has waited since this time comes first in its project; by default the time ``AGED_AFTER`` ago.

    Queued conversations of an agent that is not active or at its limit are left out, so that they do not
    hide those of other agents. So are those that a person has decided on and that find no place, unless they were
    stopped. Other conversations that are already running are always included.
    """
    active = Conversation.objects.active_of(OuterRef("agent"))
    # A helper is a part of a turn that runs, and the turn of an agent that is not active any more finishes.
    # A teammate has turns of its own.
    # guard: helper-begins-although-its-agent-is-paused
    may_begin = Q(agent__status=Agent.Status.ACTIVE) | Q(trigger_type=TriggerType.HELPER)
    waits = may_begin & _has_place_beside(active, status=ConversationStatus.QUEUED)
    stop = Trigger.objects.filter(
        conversation=OuterRef("pk"), state=TriggerState.NEW, control=ControlCommand.STOP
    )
    has_place = _has_place_beside(active.exclude(DECIDED)) | Exists(stop.order_by())
    # guard: decided-work-hides-no-other-work
    runs = Q(status__in=ACTIVE_STATUSES) & (~DECIDED | has_place)
    aged = timezone.now() - AGED_AFTER if aged is None else aged
    return _in_fair_order(_claimable(version).filter(waits | runs), aged)


def _has_place_beside(others: QuerySet[Conversation], **facts: Any) -> Q:
    """Whether the agent may run one more conversation than the ``others``."""
    count = Subquery(others.order_by().values("agent").annotate(n=Count("pk")).values("n"))
    return Q(agent__limit_concurrent__gt=Coalesce(count, 0), **facts)


def _claimable(version: int | Parameter) -> QuerySet[Conversation]:
    """Conversations without a worker that a worker of this version knows how to run.

    Work that the agent was unassigned from is left out: it is about to be stopped. So are helpers and teammates that
    have not begun while a pause waits for the conversation that started them to end its step.
    """
    unassigned = PendingTrigger.objects.filter(
        kind=PendingKind.TASK_UNASSIGNED, agent=OuterRef("agent"), task=OuterRef("task")
    )
    # guard: unassigned-work-is-not-begun
    found = Conversation.objects.claimable().filter(~Exists(unassigned.order_by()))
    pauses = Trigger.objects.new_pauses().filter(conversation=OuterRef("parent"))
    # guard: helper-does-not-begin-under-a-pause
    found = found.exclude(Q(status=ConversationStatus.QUEUED) & Exists(pauses.order_by()))
    # guard: older-worker-claims-what-it-knows
    return found.filter(Q(least_worker__isnull=True) | Q(least_worker__lte=version))


def _in_fair_order(
    found: QuerySet[Conversation], aged: datetime | Parameter
) -> QuerySet[Conversation]:
    """Order the conversations so that projects take turns, however much waits in one of them.

    Each project has a queue of its own: begun work, then work that has waited since ``aged``, then that of agents with a
    higher priority, each time the longest waiting first. The place of a conversation is its number in that queue plus the
    number of conversations of the project that workers run. The lowest place comes first, then the longest waiting.
    """
    waiting_since = Coalesce("queued_at", "updated_at")
    has_begun = Case(When(status__in=ACTIVE_STATUSES, then=Value(0)), default=Value(1))
    # guard: waiting-work-ages
    has_aged = When(Q(waiting_since__lte=aged), then=Value(max(AgentPriority) + 1))
    # guard: higher-priority-begins-first
    urgency = Case(has_aged, default=F("agent__priority"), output_field=IntegerField()).desc()
    number = Window(
        RowNumber(), partition_by="project", order_by=[has_begun, urgency, F("waiting_since")]
    )
    # guard: projects-take-turns
    place = number + _at_work_in_project()
    return found.annotate(waiting_since=waiting_since).order_by(place, F("waiting_since"))


def _at_work_in_project() -> Coalesce:
    """How many conversations of the project workers run now."""
    leased = Conversation.objects.filter(
        project=OuterRef("project"), status__in=ACTIVE_STATUSES, lease_until__gte=Now()
    )
    count = leased.order_by().values("project").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(count), 0)


CANDIDATES = Select(
    lambda: claimable(
        version=Parameter("version", IntegerField()), aged=Parameter("aged", DateTimeField())
    ).values_list(*ClaimCandidate._fields)[:MAX_CANDIDATES]
)


def candidates(version: int) -> list[ClaimCandidate]:
    """The first conversations of ``claimable``, for a worker of this version."""
    rows = CANDIDATES.rows(version=version, aged=timezone.now() - AGED_AFTER)
    return [ClaimCandidate._make(row) for row in rows]


AGENT_LOCK = Select(
    lambda: (
        Agent.objects.filter(pk=Parameter("id", UUIDField()))
        .select_for_update(no_key=True)
        .values_list("deleted_at", "limit_concurrent", "status")
    )
)
RUNNING_COUNT = Select(
    lambda: (
        Conversation.objects.active_of(Parameter("agent", UUIDField()))
        .order_by()
        .values("agent")
        .annotate(n=Count("pk"))
        .values_list("n")
    )
)
# Without those that go on after a wait for a person and have no worker yet.
AT_WORK_COUNT = Select(
    lambda: (
        Conversation.objects.active_of(Parameter("agent", UUIDField()))
        .exclude(DECIDED)
        .order_by()
        .values("agent")
        .annotate(n=Count("pk"))
        .values_list("n")
    )
)
CLAIM = Update(
    lambda: _claimable(Parameter("version", IntegerField())).filter(
        pk=Parameter("id", UUIDField()),
        lease_epoch=Parameter("epoch", IntegerField()),
        status=Parameter("status", CharField()),
    ),
    lease_owner=Parameter("owner", CharField()),
    lease_epoch=F("lease_epoch") + 1,
    lease_until=Now() + Parameter("length", DurationField()),
    lost_workers=Parameter("lost_workers", IntegerField()),
)
