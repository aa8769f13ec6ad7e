"""What follows when a teammate's turn has ended: its report, its next task, or its end. And requests without an answer.

Everything is read from rows, so it does not matter which process asks, or how often. A transaction for each team
locks the project, the lead and then the teammates.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import DateTimeField, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from paca.agents.models import Agent
from paca.common.best_effort import tolerated
from paca.common.prepared_queries import Parameter, Select
from paca.conversations import event_log
from paca.conversations.models import (
    Conversation,
    ConversationStatus,
    StopReason,
    Teammate,
    TeammateEnd,
    TeammateStop,
    TeamRequest,
    TeamRequestKind,
    TeamRequestState,
    Trigger,
)
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.conversations.services import lifecycle
from paca.conversations.services.teams import board, members, messages, protocols, texts
from paca.engine.teams.requests import LEAD, TEAM
from paca.projects.services import tasks

SETTLED_AT_ONCE = 100
BUSY = (ConversationStatus.QUEUED, *ACTIVE_STATUSES)
ENDS = {
    ConversationStatus.STOPPED: TeammateEnd.STOPPED,
    ConversationStatus.FAILED: TeammateEnd.FAILED,
    ConversationStatus.PAUSED: TeammateEnd.LIMIT,
}
# A teammate that a command has paused, and no limit: nobody pauses one alone.
PAUSED_WITH_OTHERS = Q(
    conversation__status=ConversationStatus.PAUSED, conversation__reason="by_person"
)
# The lead has caused the end, or can see it in the list: it is not woken for it.
QUIET = (TeammateEnd.IDLE, TeammateEnd.SHUTDOWN)


def settle_soon(lead_id: UUID) -> None:
    """Settle the team after the commit. The sweep does it if this process dies first."""
    transaction.on_commit(partial(_try_to_settle, lead_id))


def _try_to_settle(lead_id: UUID, now: datetime | None = None) -> None:
    with tolerated("team", conversation=str(lead_id)):
        settle(lead_id, now=now or timezone.now())


def settle_due(*, now: datetime | None = None) -> None:
    """Settle every team in which something is due at ``now``. Workers ask every second; without teams it is one query."""
    now = now or timezone.now()
    for (lead_id,) in DUE_LEADS.rows(now=now, idle_since=_idle_since(now)):
        _try_to_settle(lead_id, now)


def _due_leads(now: Parameter, idle_since: Parameter) -> QuerySet[Teammate, UUID]:
    mates = Teammate.objects.live().filter(lead__deleted_at=None)
    rest = mates.exclude(conversation__status__in=BUSY).filter(_is_due(idle_since))
    expired = TeamRequest.objects.filter(state=TeamRequestState.OPEN, deadline__lte=now)
    late = mates.filter(Exists(expired.filter(teammate=OuterRef("pk"))))
    return (rest | late).order_by().values_list("lead", flat=True).distinct()


def _is_due(idle_since: Parameter) -> Q:
    """The condition that something follows for a teammate that does not work."""
    ended = Q(conversation__status__in=tuple(ENDS))
    news = Q(conversation__turn_number__gt=F("told_turn"))
    free = Q(Exists(board.claimable(lead=OuterRef("lead")).order_by()))
    takes = Q(lead__agent__status=Agent.Status.ACTIVE, lead__agent__deleted_at=None)
    takes &= ~Q(lead__plan_mode=True)
    idle = Q(conversation__finished_at__lte=idle_since)
    due = ended | news | (~_rests() & (free & takes | ~free & idle))
    return ~Q(stopping="") | ~PAUSED_WITH_OTHERS & due | PAUSED_WITH_OTHERS & _goes_on()


def _rests() -> Q:
    """The condition that the team rests, for its lead is paused or ends its last step: nothing begins, nobody is sent away."""
    pauses = Trigger.objects.new_pauses().filter(conversation=OuterRef("lead"))
    return Q(lead__status=ConversationStatus.PAUSED) | Q(Exists(pauses.order_by()))


def _goes_on() -> Q:
    """The condition that a teammate goes on which was paused with its lead or its agent."""
    works = Q(lead__agent__status=Agent.Status.ACTIVE, lead__agent__deleted_at=None)
    # guard: teammate-rests-while-its-lead-is-paused
    return works & ~_rests()


DUE_LEADS = Select(
    lambda: _due_leads(Parameter("now", DateTimeField()), Parameter("idle_since", DateTimeField()))[
        :SETTLED_AT_ONCE
    ]
)


def _idle_since(now: datetime) -> datetime:
    return now - timedelta(seconds=settings.TEAM_IDLE_SECONDS)


@dataclass(slots=True)
class _Team:
    """A locked team at ``now``. ``rests`` as in ``_rests``.

    ``has_tasks``: no teammate has found the plan without a free task yet.
    """

    lead: Conversation
    now: datetime
    rests: bool
    has_tasks: bool = True


@dataclass(frozen=True, slots=True)
class _Member:
    """A locked teammate with its conversation and its requests, the newest last."""

    mate: Teammate
    child: Conversation
    requests: list[TeamRequest]

    def has(self, kind: TeamRequestKind, state: TeamRequestState) -> bool:
        """Whether it has a request of this kind in this state."""
        return any((each.kind, each.state) == (kind, state) for each in self.requests)

    @property
    def is_paused_with_others(self) -> bool:
        """As ``PAUSED_WITH_OTHERS``."""
        paused = (ConversationStatus.PAUSED, "by_person")
        return (self.child.status, self.child.reason) == paused

    @property
    def shuts_down(self) -> bool:
        """Whether it has agreed to end, or has not answered in time."""
        ends = (TeamRequestState.EXPIRED, TeamRequestState.APPROVED)
        return any(self.has(TeamRequestKind.SHUTDOWN, each) for each in ends)

    @property
    def may_work(self) -> bool:
        """Whether it needs no approval of a plan, or has it; and waits for none."""
        kind = TeamRequestKind.PLAN_REVIEW
        if self.has(kind, TeamRequestState.OPEN):
            return False
        # guard: unapproved-teammate-claims-nothing
        return not self.mate.plans_first or self.has(kind, TeamRequestState.APPROVED)

    @property
    def untold_decision(self) -> TeamRequest | None:
        """The decision on its plan that it was not told yet."""
        decided = (TeamRequestState.APPROVED, TeamRequestState.REJECTED)
        plans = (each for each in self.requests if each.kind == TeamRequestKind.PLAN_REVIEW)
        return next((each for each in plans if each.state in decided and not each.told_at), None)


@transaction.atomic
def settle(lead_id: UUID, *, now: datetime) -> None:
    """Do what is due in one team at ``now``."""
    found = Conversation.objects.filter(pk=lead_id, teammates__ended_at=None)
    project_id = found.values_list("project_id", flat=True).first()
    if project_id is None:
        return
    tasks.lock_project(project_id)
    rows = Conversation.objects.select_related("agent", "triggered_by").for_update()
    lead = rows.filter(pk=lead_id, deleted_at=None).first()
    if lead is None:
        return
    mates = Teammate.objects.live().filter(lead=lead).order_by("created_at", "pk")
    team = _Team(lead, now, rests=mates.filter(_rests()).exists())
    children = {each.pk: each for each in rows.filter(teammate__in=mates.values("pk"))}
    for mate in mates.prefetch_related("requests"):
        mate.lead, mate.conversation = lead, children[mate.conversation_id]
        member = _Member(mate, mate.conversation, list(mate.requests.all()))
        _expire(member, now)
        if member.child.status not in BUSY:
            _settle_one(member, team)


def _expire(member: _Member, now: datetime) -> None:
    """Resolve the requests that nobody has answered in time. The teammate ends then."""
    for request in member.requests:
        if request.state != TeamRequestState.OPEN or request.deadline > now:
            continue
        kind, request.state = TeamRequestKind(request.kind), TeamRequestState.EXPIRED
        protocols.resolve(member.mate, kind, TeamRequestState.EXPIRED, "", now=now)
        # guard: shutdown-without-an-answer-stops
        if member.child.status in BUSY and kind == TeamRequestKind.SHUTDOWN:
            _stop_at_shutdown(member)


def _stop_at_shutdown(member: _Member) -> None:
    lifecycle.stop_locked(member.child, reason=StopReason.SHUTDOWN, by="")
    member.child.refresh_from_db(fields=["status", "reason"])


def _settle_one(member: _Member, team: _Team) -> None:
    """What follows for a teammate that does not work: it is told a decision, ends, claims a task, or stays idle."""
    mate, lead = member.mate, team.lead
    # guard: teammate-that-shuts-down-does-not-go-on
    if member.is_paused_with_others and member.shuts_down:
        _stop_at_shutdown(member)
    # guard: teammate-that-is-paused-does-not-end
    if member.is_paused_with_others and not mate.stopping:
        if Teammate.objects.filter(_goes_on(), pk=mate.pk).exists():
            child = member.child
            lifecycle.requeue(child, by=child.agent, actor=child.triggered_by)
        return
    report = _close_turn(member, team.now)
    why = _end_of(member, team)
    if why is not None:
        _end(member, team, why, report)
        return
    follows = _tell_decision(member, team.now) or _claim(member, team)
    if report:
        key = f"{mate.pk}:{member.child.turn_number}"
        # The lead is woken when the teammate has nothing more to do, and reads all reports then.
        # guard: lead-is-woken
        messages.deliver(lead, report, sender=mate.name, key=key, wake=not follows)


def _close_turn(member: _Member, now: datetime) -> str:
    """Close the turn that has ended, once; gives its report, empty if it was closed before."""
    mate, child = member.mate, member.child
    # guard: teammate-reports-a-turn-once
    if child.turn_number <= mate.told_turn:
        return ""
    mate.told_turn = child.turn_number
    mate.save(update_fields=["told_turn", "updated_at"])
    claims = board.close(mate, now=now)
    if child.status != ConversationStatus.FINISHED:
        return ""
    messages.tell(mate, "idle", usage=members.take_usage(mate))
    return texts.report(mate, event_log.final_answer(child.pk, child.turn_number), claims)


def _end_of(member: _Member, team: _Team) -> TeammateEnd | None:
    """Why the teammate ends now; None if it does not."""
    # guard: stopped-teammate-ends
    if member.mate.stopping:
        return TeammateEnd.STOPPED
    if member.shuts_down:
        return TeammateEnd.SHUTDOWN
    if (why := ENDS.get(ConversationStatus(member.child.status))) is not None:
        return why
    if member.has(TeamRequestKind.PLAN_REVIEW, TeamRequestState.EXPIRED):
        return TeammateEnd.UNREVIEWED
    return TeammateEnd.IDLE if _is_idle_too_long(member, team) else None


def _is_idle_too_long(member: _Member, team: _Team) -> bool:
    limit, lead, ended_at = _idle_since(team.now), team.lead, member.child.finished_at
    waits = member.has(TeamRequestKind.PLAN_REVIEW, TeamRequestState.OPEN)
    if team.rests or waits or ended_at is None or ended_at > limit:
        return False
    # After a pause of the lead the time begins anew.
    if lead.started_at is not None and lead.started_at > limit:
        return False
    if member.untold_decision is not None:
        return False
    return not (member.may_work and board.claimable(lead=lead).exists())


def _end(member: _Member, team: _Team, why: TeammateEnd, report: str) -> None:
    """End the teammate, and tell the lead; unless a stop has ended the whole team: that is no news to work on."""
    mate, lead, detail = member.mate, team.lead, member.child.detail[:500]
    members.end(mate, why=why, detail=detail, now=team.now)
    # guard: stopped-lead-hears-nothing
    if mate.stopping == TeammateStop.WITH_LEAD or lead.status == ConversationStatus.STOPPED:
        return
    news = "" if why in QUIET else texts.ending(mate, why, detail)
    if words := "\n\n".join(filter(None, (report, news))):
        messages.deliver(lead, words, sender=mate.name, key=f"{mate.pk}:end")


def _tell_decision(member: _Member, now: datetime) -> bool:
    """Tell an idle teammate the decision on its plan, which wakes it; whether there was one."""
    decision = member.untold_decision
    if decision is None:
        return False
    decision.told_at = now
    decision.save(update_fields=["told_at", "updated_at"])
    approved = decision.state == TeamRequestState.APPROVED
    words = texts.plan_decision(approved=approved, feedback=decision.answer)
    messages.wake_teammate(member.mate, words, sender=LEAD)
    return True


def _claim(member: _Member, team: _Team) -> bool:
    """Let an idle teammate claim the next task; whether there was one."""
    lead = team.lead
    # guard: paused-lead-gives-no-tasks
    if team.rests:
        return False
    # guard: team-of-a-paused-agent-takes-no-task
    if lead.agent.status != Agent.Status.ACTIVE or lead.agent.deleted_at is not None:
        return False
    # A claim changes the task.
    # guard: team-in-plan-mode-takes-no-task
    if lead.plan_mode or lead.reads_only:
        return False
    if not team.has_tasks or not member.may_work:
        return False
    task = board.claim_next(member.mate, lead, now=team.now)
    team.has_tasks = task is not None
    if task is None:
        return False
    messages.wake_teammate(member.mate, texts.claimed(task), sender=TEAM, task=task.key)
    return True
