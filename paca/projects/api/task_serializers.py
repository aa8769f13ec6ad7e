"""How the API shows tasks and what surrounds them."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from rest_framework import serializers

from paca.common.api.pagination import NewestFirstPagination
from paca.projects import selectors, task_lists
from paca.projects.models import (
    Activity,
    Attachment,
    Label,
    Member,
    Priority,
    Sprint,
    Task,
    TaskStatus,
    TaskType,
)

PRIORITIES = [each.name.lower() for each in Priority]


class MemberSummarySerializer(serializers.Serializer[Member]):
    """A member as tasks, comments and timelines show it."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=Member.Kind.choices)
    name = serializers.CharField()
    handle = serializers.CharField()
    agent_id = serializers.UUIDField(allow_null=True)

    def to_representation(self, instance: Member) -> dict[str, Any]:
        return selectors.describe_member(instance)


class StatusSerializer(serializers.ModelSerializer[TaskStatus]):
    """A status of tasks."""

    class Meta:
        model = TaskStatus
        fields = ("id", "name", "category", "position", "created_at", "updated_at")


class TaskTypeSerializer(serializers.ModelSerializer[TaskType]):
    """A type of tasks."""

    class Meta:
        model = TaskType
        fields = ("id", "name", "position", "created_at", "updated_at")


class LabelSerializer(serializers.ModelSerializer[Label]):
    """A label of tasks."""

    class Meta:
        model = Label
        fields = ("id", "name")


class StatusSummarySerializer(serializers.ModelSerializer[TaskStatus]):
    """The status of a task."""

    class Meta:
        model = TaskStatus
        fields = ("id", "name", "category")


class TypeSummarySerializer(serializers.ModelSerializer[TaskType]):
    """The type of a task."""

    class Meta:
        model = TaskType
        fields = ("id", "name")


class SprintSummarySerializer(serializers.ModelSerializer[Sprint]):
    """The sprint of a task."""

    class Meta:
        model = Sprint
        fields = ("id", "name", "status")


class SprintSerializer(serializers.ModelSerializer[Sprint]):
    """A sprint."""

    class Meta:
        model = Sprint
        fields = (
            "id",
            "name",
            "goal",
            "status",
            "start_date",
            "end_date",
            "completed_at",
            "created_at",
            "updated_at",
        )


class AgentStateSerializer(serializers.Serializer[Any]):
    """The agent that works on a task."""

    conversation = serializers.UUIDField()
    agent = serializers.JSONField(help_text="`{id, name, handle}`")
    status = serializers.CharField()
    activity = serializers.CharField()


class CardSerializer(serializers.ModelSerializer[Task]):
    """A task as the board shows it: without its description.

    The context has ``agent_states``: those of all tasks that are shown, by their ids.
    """

    key = serializers.CharField()
    status = StatusSummarySerializer()
    type = TypeSummarySerializer()
    priority = serializers.ChoiceField(choices=PRIORITIES)
    assignees = MemberSummarySerializer(many=True)
    reporter = MemberSummarySerializer(allow_null=True)
    parent = serializers.IntegerField(allow_null=True)  # type: ignore[assignment] # shadows DRF's own
    blocked_by = serializers.ListField(child=serializers.IntegerField())
    labels = serializers.ListField(child=serializers.CharField())
    sprint = SprintSummarySerializer(allow_null=True)
    agent_state = AgentStateSerializer(allow_null=True)

    class Meta:
        model = Task
        fields: tuple[str, ...] = (
            "id",
            "number",
            "key",
            "title",
            "status",
            "type",
            "priority",
            "assignees",
            "reporter",
            "parent",
            "blocked_by",
            "labels",
            "sprint",
            "story_points",
            "start_date",
            "due_date",
            "position",
            "agent_state",
            "created_at",
            "updated_at",
        )

    def to_representation(self, instance: Task) -> dict[str, Any]:
        # By hand, because a board has a thousand cards: the fields above take ten times as long, and
        # only describe the object for the schema. A test compares the names.
        parent, sprint, reporter = instance.parent, instance.sprint, instance.reporter
        states: dict[Any, dict[str, Any]] = self.context.get("agent_states", {})
        blockers = (each.blocked_by for each in instance.dependencies.all())
        return {
            "id": str(instance.pk),
            "number": instance.number,
            "key": instance.key,
            "title": instance.title,
            "status": _summarize(instance.status, category=instance.status.category),
            "type": _summarize(instance.type),
            "priority": PRIORITIES[instance.priority],
            "assignees": [
                selectors.describe_member(each.member) for each in instance.assignments.all()
            ],
            "reporter": None if reporter is None else selectors.describe_member(reporter),
            "parent": None if parent is None or parent.deleted_at else parent.number,
            "blocked_by": sorted(each.number for each in blockers if each.deleted_at is None),
            "labels": [label.name for label in instance.labels.all()],
            "sprint": None if sprint is None else _summarize(sprint, status=sprint.status),
            "story_points": instance.story_points,
            "start_date": _iso(instance.start_date),
            "due_date": _iso(instance.due_date),
            "position": instance.position,
            "agent_state": states.get(instance.pk),
            "created_at": _iso(instance.created_at),
            "updated_at": _iso(instance.updated_at),
        }


class TaskSerializer(CardSerializer):
    """A task."""

    class Meta(CardSerializer.Meta):
        fields = (*CardSerializer.Meta.fields[:4], "description", *CardSerializer.Meta.fields[4:])

    def to_representation(self, instance: Task) -> dict[str, Any]:
        return {**super().to_representation(instance), "description": instance.description}


class ColumnSerializer(serializers.Serializer[Any]):
    """A column of the board."""

    status = StatusSerializer()
    count = serializers.IntegerField(help_text="The number of all its tasks.")
    tasks = CardSerializer(many=True)
    next = serializers.CharField(
        allow_null=True, help_text="The address of the page of its tasks after these."
    )


class BoardSerializer(serializers.Serializer[Any]):
    """The board: a column for each status, in their order."""

    columns = ColumnSerializer(many=True)


class TasksSerializer(serializers.Serializer[Any]):
    """Tasks that were changed at once."""

    results = TaskSerializer(many=True)


class ActivitySerializer(serializers.ModelSerializer[Activity]):
    """An entry of a timeline. Nothing changes it."""

    actor = MemberSummarySerializer(allow_null=True)
    at = serializers.DateTimeField(source="created_at")
    changes = serializers.ListField(
        child=serializers.DictField(child=serializers.CharField(allow_null=True)),
        help_text="`{field, old, new}`, in words as people read them.",
    )
    conversation = serializers.UUIDField(source="conversation_id", allow_null=True)

    class Meta:
        model = Activity
        fields = ("id", "kind", "actor", "at", "changes", "conversation")


class AttachmentSerializer(serializers.ModelSerializer[Attachment]):
    """A file of a task. Its bytes are at `attachments/{id}/download/`."""

    by = MemberSummarySerializer()

    class Meta:
        model = Attachment
        fields = ("id", "name", "content_type", "size_bytes", "sha256", "by", "created_at")


class CompletionSerializer(serializers.Serializer[Any]):
    """A completed sprint."""

    sprint = SprintSerializer()
    moved = serializers.IntegerField(help_text="How many open tasks left it.")


class OldestFirstPagination(NewestFirstPagination):
    """Oldest first."""

    ordering = ("created_at", "id")


def _summarize(row: TaskStatus | TaskType | Sprint, **more: str) -> dict[str, Any]:
    return {"id": str(row.pk), "name": row.name, **more}


def _iso(value: date | None) -> str | None:
    """A date or a moment as REST framework writes it."""
    return None if value is None else value.isoformat().replace("+00:00", "Z")


def describe(task: Task) -> dict[str, Any]:
    """A task as the API shows it."""
    return describe_all([task])[0]


def describe_all(
    tasks: Iterable[Task], serializer: type[CardSerializer] = TaskSerializer
) -> list[dict[str, Any]]:
    """Tasks as the API shows them; the states of their agents are asked once."""
    rows = list(tasks)
    context = {"agent_states": task_lists.ask_agent_states(rows)}
    return list(serializer(rows, many=True, context=context).data)
