"""The inbox of a conversation. All inboxes together are the queue of work."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from paca.agents.models import Agent
from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation
from paca.conversations.models.statuses import TRIGGER_MOVES, TriggerState, statuses_before
from paca.conversations.models.trigger_types import TriggerType
from paca.projects.models import Comment, Doc, Member, Task


class ControlCommand(models.TextChoices):
    """The command that a trigger gives to a running turn."""

    NONE = ""
    INTERRUPT = "interrupt"
    STOP = "stop"
    PAUSE = "pause"


class TriggerQuerySet(models.QuerySet["Trigger"]):
    """Queries of triggers, and the only update of their state by the ORM."""

    def move(self, to: TriggerState, **changes: Any) -> int:
        """Give this state to those triggers that may go to it; gives their number.

        ``changes`` are other columns. Raises ``IllegalStatusMove`` if no trigger may ever go to it.
        """
        # guard: triggers-move-as-allowed
        movable = self.filter(state__in=statuses_before(to, TRIGGER_MOVES))
        return movable.update(state=to, **changes)

    def new_pauses(self) -> TriggerQuerySet:
        """The pauses that no turn has obeyed."""
        return self.filter(control=ControlCommand.PAUSE, state=TriggerState.NEW)

    def of_turn(self, conversation: Conversation) -> TriggerQuerySet:
        """What the newest turn of a conversation answers."""
        answered = (ControlCommand.NONE, ControlCommand.INTERRUPT)
        return self.filter(
            conversation=conversation, turn=conversation.turn_number, control__in=answered
        )


class Trigger(BaseModel):
    """A message to answer, a request to continue, or a control command to a running turn.

    ``event_seq`` is its place in the log: the event of a message, or the last event before a command.
    A command ends what came before it, never a message after it. ``turn`` is the turn that took it up.
    ``actor`` is the member who caused it, None for the system. ``comment`` is the comment that mentions the agent. ``hops`` counts the agents that have called one
    another since the last act of a person: 0 for a trigger of a person.
    """

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="triggers"
    )
    kind = models.CharField(max_length=20)
    control = models.CharField(max_length=10, choices=ControlCommand.choices, blank=True)
    source = models.CharField(max_length=20)
    idempotency_key = models.CharField(max_length=200, blank=True)
    by = models.CharField(max_length=200, blank=True)
    actor = models.ForeignKey(Member, on_delete=models.SET_NULL, null=True, related_name="+")
    event_seq = models.BigIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=10, choices=TriggerState.choices, default=TriggerState.NEW)
    turn = models.PositiveIntegerField(null=True)
    last_error = models.TextField(blank=True)
    comment = models.ForeignKey(
        Comment, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    # With a default of the database: workers of an earlier version do not know the column.
    hops = models.PositiveSmallIntegerField(default=0, db_default=0)

    objects = TriggerQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="trigger_state_is_known", condition=Q(state__in=TriggerState.values)
            ),
            models.UniqueConstraint(
                fields=["conversation", "source", "kind", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="trigger_key_starts_one_turn",
            ),
        ]
        indexes = [
            models.Index(
                fields=["conversation", "control"], name="trigger_new", condition=Q(state="new")
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"


class PendingKind(models.TextChoices):
    """What has happened: the first two give work to an agent, the third takes it back."""

    TASK_ASSIGNED = TriggerType.TASK_ASSIGNED.value
    COMMENT_MENTION = TriggerType.COMMENT_MENTION.value
    TASK_UNASSIGNED = "task_unassigned"


class PendingTrigger(BaseModel):
    """An assignment, a mention or the end of an assignment that has not reached a conversation of the agent yet.

    It is stored in the transaction of its cause, which holds locks on tasks. After the commit it is
    delivered in a transaction of its own, which locks the agent and its conversation, and deletes this
    row. A worker delivers those that were left, and those of an agent that many wait for. ``by`` is None for the system.
    """

    kind = models.CharField(max_length=20, choices=PendingKind.choices)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, null=True, related_name="+")
    doc = models.ForeignKey(Doc, on_delete=models.CASCADE, null=True, related_name="+")
    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, null=True, related_name="+")
    by = models.ForeignKey(Member, on_delete=models.SET_NULL, null=True, related_name="+")
    hops = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.TextField(blank=True)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.CheckConstraint(
                name="pending_trigger_is_about_one_task_or_one_doc",
                condition=Q(task__isnull=False, doc__isnull=True)
                | Q(task__isnull=True, doc__isnull=False),
            )
        ]
        indexes = [models.Index(fields=["due_at"], name="pending_trigger_due")]

    def __str__(self) -> str:
        return f"{self.kind} for {self.agent_id}"
