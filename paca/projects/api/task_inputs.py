"""What clients send of tasks, statuses and sprints."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from paca.common.api.serializers import InputSerializer
from paca.projects.api.task_serializers import PRIORITIES
from paca.projects.models import StatusCategory
from paca.projects.models.task import MAX_DESCRIPTION_CHARACTERS
from paca.projects.services import task_bulk, task_links

HIGHEST_NUMBER = 2**31 - 1


class TaskInput(InputSerializer):
    """The input to make or change a task."""

    title = serializers.CharField(max_length=200)
    description = serializers.CharField(
        max_length=MAX_DESCRIPTION_CHARACTERS,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
    )
    status_id = serializers.UUIDField(required=False)
    type_id = serializers.UUIDField(required=False)
    priority = serializers.ChoiceField(choices=PRIORITIES, required=False)
    assignee_ids = serializers.ListField(
        child=serializers.UUIDField(), max_length=task_links.MAX_ASSIGNEES, required=False
    )
    parent = serializers.IntegerField(  # type: ignore[assignment] # shadows DRF's own
        min_value=1, max_value=HIGHEST_NUMBER, allow_null=True, required=False
    )
    blocked_by = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=HIGHEST_NUMBER),
        max_length=task_links.MAX_BLOCKERS,
        required=False,
    )
    labels = serializers.ListField(
        child=serializers.CharField(max_length=50),
        max_length=task_links.MAX_LABELS,
        required=False,
    )
    sprint_id = serializers.UUIDField(allow_null=True, required=False)
    story_points = serializers.IntegerField(
        min_value=0, max_value=1000, allow_null=True, required=False
    )
    start_date = serializers.DateField(allow_null=True, required=False)
    due_date = serializers.DateField(allow_null=True, required=False)
    before = serializers.IntegerField(
        min_value=1,
        max_value=HIGHEST_NUMBER,
        required=False,
        help_text="Put it directly above this task of its column.",
    )
    after = serializers.IntegerField(
        min_value=1,
        max_value=HIGHEST_NUMBER,
        required=False,
        help_text="Put it directly below this task of its column.",
    )
    position = serializers.FloatField(
        min_value=-1e12, max_value=1e12, required=False, help_text="Its place in its column."
    )


class BulkChanges(TaskInput):
    """A change that is made to many tasks."""

    title = serializers.CharField(max_length=200, required=False)
    add_assignee_ids = serializers.ListField(
        child=serializers.UUIDField(), max_length=task_links.MAX_ASSIGNEES, required=False
    )
    remove_assignee_ids = serializers.ListField(
        child=serializers.UUIDField(), max_length=task_links.MAX_ASSIGNEES, required=False
    )
    add_labels = serializers.ListField(
        child=serializers.CharField(max_length=50),
        max_length=task_links.MAX_LABELS,
        required=False,
    )
    remove_labels = serializers.ListField(
        child=serializers.CharField(max_length=50),
        max_length=task_links.MAX_LABELS,
        required=False,
    )


class BulkInput(InputSerializer):
    """The input to change many tasks at once."""

    numbers = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=HIGHEST_NUMBER),
        min_length=1,
        max_length=task_bulk.MAX_TASKS,
    )
    changes = BulkChanges()


class StatusInput(InputSerializer):
    """The input to make or change a status."""

    name = serializers.CharField(max_length=50)
    category = serializers.ChoiceField(choices=StatusCategory.choices)


class TaskTypeInput(InputSerializer):
    """The input to make or change a task type."""

    name = serializers.CharField(max_length=50)


class OrderInput(InputSerializer):
    """The input to order all statuses, or all task types."""

    ids = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=100)


class ReplacementQuery(InputSerializer):
    """The query of a deletion."""

    replacement_id = serializers.UUIDField(
        required=False, help_text="What the tasks get that have the deleted one."
    )

    @classmethod
    def read_query(cls, request: Request) -> dict[str, Any]:
        """The validated query. Raises ``ValidationError``."""
        serializer = cls(data=request.query_params)
        serializer.is_valid(raise_exception=True)
        return dict(serializer.validated_data)


class SprintInput(InputSerializer):
    """The input to make or change a sprint."""

    name = serializers.CharField(max_length=100)
    goal = serializers.CharField(max_length=10_000, required=False, allow_blank=True)
    start_date = serializers.DateField(allow_null=True, required=False)
    end_date = serializers.DateField(allow_null=True, required=False)


class CompletionInput(InputSerializer):
    """The input to complete a sprint."""

    move_to_id = serializers.UUIDField(
        required=False, allow_null=True, help_text="The sprint that its open tasks go to."
    )
