"""The indexes and constraints of the table of conversations."""

from django.db import models
from django.db.models import Q

from paca.conversations.models.statuses import ConversationStatus

INDEXES = [
    models.Index(fields=["project", "-last_activity_at"], name="conversation_list"),
    models.Index(
        fields=["status", "lease_until"],
        name="conversation_claim",
        condition=Q(status__in=["queued", "running", "waiting"]),
    ),
    # Every claim counts what workers run in each project.
    models.Index(
        fields=["project", "lease_until"],
        name="conversation_at_work",
        condition=Q(status__in=["running", "waiting"]),
    ),
    # Every claim counts the active conversations of an agent, however many have ended.
    models.Index(fields=["agent", "status"], name="conversation_of_agent"),
    models.Index(fields=["status", "reason", "deleted_at"], name="conversation_state"),
    models.Index(
        fields=["status"],
        name="conversation_unsettled",
        condition=Q(parent__isnull=False, settled_at__isnull=True),
    ),
]
CONSTRAINTS: list[models.BaseConstraint] = [
    models.CheckConstraint(
        name="conversation_status_is_known",
        condition=Q(status__in=ConversationStatus.values),
    ),
    models.UniqueConstraint(
        fields=["parent", "parent_call", "piece"],
        condition=Q(parent__isnull=False),
        name="piece_of_work_has_one_helper",
    ),
    models.CheckConstraint(name="conversation_seq_starts_at_one", condition=Q(next_seq__gte=1)),
    models.CheckConstraint(
        name="conversation_is_about_one_task_or_one_doc",
        condition=Q(task__isnull=True) | Q(doc__isnull=True),
    ),
    models.UniqueConstraint(
        fields=["agent", "task"],
        condition=Q(
            task__isnull=False,
            deleted_at__isnull=True,
            trigger_type__in=["task_assigned", "comment_mention"],
        ),
        name="agent_has_one_conversation_on_a_task",
    ),
    models.UniqueConstraint(
        fields=["agent", "doc"],
        condition=Q(
            doc__isnull=False,
            deleted_at__isnull=True,
            trigger_type__in=["task_assigned", "comment_mention"],
        ),
        name="agent_has_one_conversation_on_a_doc",
    ),
]
