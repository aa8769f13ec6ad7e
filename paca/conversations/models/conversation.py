"""The table of conversations."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Count, Exists, Max, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Now

from paca.common.models import BaseModel
from paca.conversations.models.conversation_constraints import CONSTRAINTS, INDEXES
from paca.conversations.models.statuses import (
    ACTIVE_STATUSES,
    WAITS_FOR_HELPERS,
    WAITS_FOR_PEOPLE,
    WAITS_WITHOUT_WORKER,
    ConversationStatus,
    WaitsFor,
)
from paca.conversations.models.trigger_types import BOUNDED_TYPES, TriggerType
from paca.conversations.models.worker_versions import version_for
from paca.conversations.models.workers import Worker
from paca.engine.helpers.kinds import HelperKind
from paca.engine.llm.base import COST_DIGITS
from paca.projects.models import Comment, Doc, Member, Project, Task


def agent_load() -> Coalesce:
    """For a query of rows with an agent: the number of active conversations of that agent."""
    others = Conversation.objects.active_of(OuterRef("agent")).order_by().values("agent")
    return Coalesce(Subquery(others.annotate(n=Count("pk")).values("n")), 0)


def newest_worker() -> Subquery:
    """For a query: the highest version of the workers that claim conversations; null if there is none."""
    return Subquery(Worker.objects.working().order_by("-version").values("version")[:1])


def waits_for_person(prefix: str = "") -> Q:
    """The condition that a conversation waits for a person. ``prefix`` is the path to it, as ``sandbox__``."""
    facts = {"status": ConversationStatus.WAITING, "reason__in": WAITS_FOR_PEOPLE}
    return Q(**{f"{prefix}{name}": value for name, value in facts.items()})


def waits_without_worker(prefix: str = "") -> Q:
    """The condition that a conversation waits for a person or for its helpers. It has no lease and no place.

    ``prefix`` is the path to it.
    """
    facts = {"status": ConversationStatus.WAITING, "reason__in": WAITS_WITHOUT_WORKER}
    return Q(**{f"{prefix}{name}": value for name, value in facts.items()})


def held_work() -> Q:
    """The condition that a conversation waits until a person starts it. ``held`` means nothing in other statuses."""
    return Q(status=ConversationStatus.QUEUED, held=True)


class ConversationQuerySet(models.QuerySet["Conversation"]):
    """Queries of conversations."""

    def for_project(self, project: Project | UUID) -> ConversationQuerySet:
        # guard: conversation-of-the-project
        return self.filter(project=project, deleted_at__isnull=True)

    def active_of(self, agent: Any) -> ConversationQuerySet:
        """The conversations of an agent that count for its limit: one that waits for a person or its helpers leaves
        its place."""
        found = self.filter(agent=agent, status__in=ACTIVE_STATUSES)
        # guard: waiting-for-a-person-leaves-its-place
        return found.exclude(waits_without_worker())

    def top_level(self) -> ConversationQuerySet:
        """Without the conversations of helpers, which lists show as parts of the one that started them."""
        # guard: lists-leave-out-helpers
        return self.filter(parent=None)

    def with_agent_load(self) -> ConversationQuerySet:
        """Each with ``agent_load``, the number of active conversations of its agent, and ``newest_worker``."""
        return self.annotate(agent_load=agent_load(), newest_worker=newest_worker())

    def newest_first(self) -> ConversationQuerySet:
        return self.order_by("-last_activity_at", "-id")

    def for_update(self) -> ConversationQuerySet:
        """Lock the rows until the commit, in one order, so that transactions cannot deadlock.

        An agent and then a chat may be locked before them, never after. The lock is one that lets
        other transactions store rows with a foreign key to these.
        """
        return self.order_by("pk").select_for_update(of=("self",), no_key=True)

    def unleased(self) -> ConversationQuerySet:
        """Conversations without a lease, or with an expired one by the database's clock."""
        return self.filter(Q(lease_until__isnull=True) | Q(lease_until__lt=Now()))

    def claimable(self) -> ConversationQuerySet:
        """Conversations that are queued, or whose worker no longer renews its lease.

        One that waits for a person or its helpers is not: the end of the wait makes it a running one again. A helper
        does not begin while the conversation that started it is paused, and held work not before a person starts it.
        """
        found = self.unleased().filter(
            status__in=(ConversationStatus.QUEUED, *ACTIVE_STATUSES), deleted_at__isnull=True
        )
        paused = Conversation.objects.filter(
            pk=OuterRef("parent"), status=ConversationStatus.PAUSED
        )
        # guard: helper-of-a-paused-conversation-does-not-begin
        found = found.exclude(Q(status=ConversationStatus.QUEUED) & Exists(paused.order_by()))
        # guard: held-work-is-not-begun
        found = found.exclude(held_work())
        # guard: waiting-for-a-person-is-not-claimed
        return found.exclude(waits_without_worker())


class Conversation(BaseModel):
    """One log of work of one agent. The log is the truth; the columns here are projections of it.

    ``task`` or ``doc`` is the object that it is about, ``comment`` the comment that began it, and
    ``triggered_by`` the member that began it.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="conversations")
    agent = models.ForeignKey(
        "agents.Agent", on_delete=models.PROTECT, related_name="conversations"
    )
    session = models.ForeignKey(
        "conversations.ChatSession", on_delete=models.SET_NULL, null=True, related_name="all"
    )
    trigger_type = models.CharField(max_length=20, choices=TriggerType.choices)
    task = models.ForeignKey(
        Task, on_delete=models.SET_NULL, null=True, blank=True, related_name="conversations"
    )
    doc = models.ForeignKey(
        Doc, on_delete=models.SET_NULL, null=True, blank=True, related_name="conversations"
    )
    comment = models.ForeignKey(
        Comment, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    triggered_by = models.ForeignKey(
        Member, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    # The conversation whose log this one began with; null also when that one's row is gone.
    forked_from = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="forks"
    )
    # The conversation that started this one as its helper, the call that did, and the piece of work of that call.
    parent = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="children"
    )
    # Null where there is none: SQLite would copy the table for a default.
    parent_call = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001
    piece = models.PositiveSmallIntegerField(null=True, editable=False)
    helper_kind = models.CharField(  # noqa: DJ001
        max_length=20,
        null=True,
        editable=False,
        choices=[(kind.value, kind.value) for kind in HelperKind],
    )
    # What the helpers of one call may take together: ``tokens`` and ``cost_usd``; null is no limit.
    allowance = models.JSONField(null=True, editable=False)
    # When its end was told to the conversation that started it.
    settled_at = models.DateTimeField(null=True, editable=False)
    title = models.CharField(max_length=200, blank=True)
    status = models.CharField(
        max_length=10, choices=ConversationStatus.choices, default=ConversationStatus.QUEUED
    )
    reason = models.CharField(max_length=30, blank=True)
    detail = models.TextField(blank=True)
    activity = models.CharField(max_length=30, blank=True)

    next_seq = models.BigIntegerField(default=1)
    turn_number = models.PositiveIntegerField(default=0)
    lease_owner = models.CharField(max_length=100, blank=True)
    lease_epoch = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    # Since when it is queued. Null in other statuses, and where an older web server queued it.
    queued_at = models.DateTimeField(null=True, editable=False)
    # The least version of a worker that may claim it (``worker_versions``); null is any.
    least_worker = models.PositiveSmallIntegerField(null=True, editable=False)
    # How many workers the running step has cost in a row.
    lost_workers = models.PositiveIntegerField(default=0, db_column="takeovers")

    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    cache_write_tokens = models.BigIntegerField(default=0)
    cost_usd = models.FloatField(default=0)
    unpriced_calls = models.PositiveIntegerField(default=0)
    # What filled the newest request, as events tell it: see ``agent.usage.recorded``.
    context = models.JSONField(null=True, editable=False)

    # The agent's to-do list, as the newest ``agent.todo.changed`` tells it; null if it has none.
    todo = models.JSONField(null=True, editable=False)

    # How many commands run in the background; null is none.
    background_running = models.PositiveIntegerField(null=True, editable=False)

    # The name of the person who has approved all later calls of the conversation. Null or empty: nobody has.
    rest_approved_by = models.CharField(max_length=200, blank=True, null=True)  # noqa: DJ001 - SQLite copies the table for a default

    # Whether its agent has read-only tools. Null: only if a check-in began it. See ``reads_only``.
    read_only = models.BooleanField(null=True, editable=False)

    # Whether a person has to start it, while it is queued. Null: no; SQLite would copy the table for a default.
    held = models.BooleanField(null=True, editable=False)

    # Whether its model calls are traced. Null: as its agent says.
    tracing = models.BooleanField(null=True, editable=False)
    # Whether its agent may lead a team. Null: as its agent says.
    teams = models.BooleanField(null=True, editable=False)
    # Plan mode; null is off. ``plan`` is the approved plan: its ``title``, and ``steps`` with ``text`` and ``state``.
    plan_mode = models.BooleanField(null=True, editable=False)
    plan = models.JSONField(null=True, editable=False)

    # The branch that was pushed last, and the page of the pull request that was opened last. Null: none; SQLite
    # would copy the table for a default.
    branch = models.CharField(max_length=255, null=True, editable=False)  # noqa: DJ001
    pr_url = models.CharField(max_length=1000, null=True, editable=False)  # noqa: DJ001

    last_activity_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    # Since when lists leave it out.
    archived_at = models.DateTimeField(null=True)
    # Whether its files are removed from the archive. Null is no: it was archived before this was said to people.
    files_go = models.BooleanField(null=True, editable=False)
    deleted_at = models.DateTimeField(null=True)

    objects = ConversationQuerySet.as_manager()

    class Meta:
        indexes = INDEXES
        constraints = CONSTRAINTS

    def __str__(self) -> str:
        return self.title or str(self.id)

    def save(self, **options: Any) -> None:
        """Store the row. A new one names the least worker that may claim it."""
        if self._state.adding and self.least_worker is None:
            self.least_worker = version_for(
                is_helper=self.parent_id is not None,
                reads_only=self.reads_only,
                held=self.held,
                teams=self.teams,
                plan=self.plan_mode,
            )
        super().save(**options)

    @property
    def subject(self) -> Task | Doc | None:
        """The task or doc that it is about; None for a chat."""
        return self.task or self.doc

    @property
    def archived(self) -> bool:
        """Whether lists leave it out."""
        return self.archived_at is not None

    @property
    def reads_only(self) -> bool:
        """Whether its agent has read-only tools. A check-in, helper or teammate that does not say otherwise changes nothing."""
        # guard: check-in-reads-only
        is_bounded = self.trigger_type in BOUNDED_TYPES
        return is_bounded and self.read_only is not False

    @property
    def is_traced(self) -> bool:
        """Whether its model calls are traced from the next turn on, as it or its agent says."""
        wanted = self.agent.tracing if self.tracing is None else self.tracing
        return bool(wanted and settings.TRACING)

    @property
    def leads_team(self) -> bool:
        """Whether its agent has the tools for a team, as it or its agent says. A helper or teammate has none."""
        wanted = self.agent.teams if self.teams is None else self.teams
        return bool(wanted) and self.parent_id is None

    @property
    def waits_for_person(self) -> bool:
        """Whether it waits for a decision or an answer, without a worker."""
        return self.status == ConversationStatus.WAITING and self.reason in WAITS_FOR_PEOPLE

    @property
    def waits_for_start(self) -> bool:
        """Whether it is work of an assignment that a person has to start."""
        return self.status == ConversationStatus.QUEUED and bool(self.held)

    @property
    def waits_for_helpers(self) -> bool:
        """Whether it waits until its helpers have ended, without a worker."""
        return self.status == ConversationStatus.WAITING and self.reason == WAITS_FOR_HELPERS

    @property
    def last_seq(self) -> int:
        return self.next_seq - 1

    @property
    def usage(self) -> dict[str, Any]:
        """Totals of all model calls: tokens, and dollars, or null if the price of a call is unknown."""
        return {
            "input": self.input_tokens,
            "output": self.output_tokens,
            "cache_read": self.cache_read_tokens,
            "cache_write": self.cache_write_tokens,
            "cost_usd": None if self.unpriced_calls else round(self.cost_usd, COST_DIGITS),
        }

    @property
    def usage_details(self) -> dict[str, Any]:
        """``usage``, the number of calls without a known price, and the dollars of all others."""
        priced = round(self.cost_usd, COST_DIGITS)
        return {
            **self.usage,
            "unpriced_calls": self.unpriced_calls,
            "priced_cost_usd": priced,
        }

    @property
    def waits_for(self) -> str:
        """What a queued conversation waits for (``WaitsFor``); empty in every other status.

        Rows of ``with_agent_load`` need no further query.
        """
        if self.status != ConversationStatus.QUEUED:
            return ""
        if self.held:
            return WaitsFor.START
        # A helper is a part of a turn that has begun; a teammate has turns of its own.
        begins_anew = self.trigger_type != TriggerType.HELPER
        if begins_anew and self.agent.status == self.agent.Status.PAUSED:
            return WaitsFor.AGENT_PAUSED
        if begins_anew and self.agent.status == self.agent.Status.INACTIVE:
            return WaitsFor.AGENT_INACTIVE
        if self.needs_newer_worker:
            return WaitsFor.NEWER_WORKER
        active = getattr(self, "agent_load", None)
        if active is None:
            active = Conversation.objects.active_of(self.agent_id).count()
        return WaitsFor.AGENT_BUSY if active >= self.agent.limit_concurrent else WaitsFor.WORKER

    @property
    def needs_newer_worker(self) -> bool:
        """Whether workers take conversations, and none of them knows how to run this one.

        Rows of ``with_agent_load`` need no further query.
        """
        if self.least_worker is None:
            return False
        if hasattr(self, "newest_worker"):
            newest = self.newest_worker
        else:
            newest = Worker.objects.working().aggregate(newest=Max("version"))["newest"]
        return newest is not None and newest < self.least_worker
