"""Serializers of check-ins and of what became of their slots."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from paca.common.api.serializers import InputSerializer
from paca.conversations.api.inputs import HIGHEST_TASK
from paca.conversations.models import CheckIn, CheckInOutcome, CheckInRun, SkipReason
from paca.conversations.models.check_ins import MAX_MINUTES, MIN_MINUTES

HOUR = "%H:%M"


class ReportInput(InputSerializer):
    """The task or the doc that gets the reports: the number of the task, or the id of the doc."""

    task = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=HIGHEST_TASK
    )
    doc = serializers.UUIDField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        named = [value for value in attrs.values() if value is not None]
        if not attrs or len(named) > 1:
            raise serializers.ValidationError({"doc": ["Name either a task or a doc."]})
        return attrs


class CheckInChanges(InputSerializer):
    """The settings of a check-in. The service checks those that belong together."""

    name = serializers.CharField(required=False, max_length=100)
    prompt = serializers.CharField(
        required=False, trim_whitespace=False, help_text="What the agent looks after."
    )
    enabled = serializers.BooleanField(required=False)
    every_minutes = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=MIN_MINUTES,
        max_value=MAX_MINUTES,
        help_text="The time between two slots. Null if daily_at has hours.",
    )
    daily_at = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Hours of the day, such as 09:30. Empty if every_minutes has a number.",
    )
    weekdays = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=7),
        required=False,
        help_text="1 is Monday, 7 is Sunday. Active hours over midnight belong to the day on which they begin.",
    )
    active_from = serializers.TimeField(
        required=False,
        allow_null=True,
        format=HOUR,
        input_formats=[HOUR],
        help_text="Slots come at or after this hour. Null with active_to: the whole day.",
    )
    active_to = serializers.TimeField(
        required=False,
        allow_null=True,
        format=HOUR,
        input_formats=[HOUR],
        help_text="Slots come before this hour, perhaps of the next day.",
    )
    time_zone = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=64,
        help_text="Such as Europe/Berlin. Empty: the project's, or else the server's.",
    )
    auto_act = serializers.BooleanField(
        required=False, help_text="Off: the agent has read-only tools and can change nothing."
    )
    with_tasks = serializers.BooleanField(
        required=False, help_text="The message names up to three open tasks assigned to the agent."
    )
    report_to = ReportInput(
        required=False,
        allow_null=True,
        help_text="The answer becomes a comment on the task, or is appended to the doc. Null: nobody is told.",
    )


class CheckInInput(CheckInChanges):
    """A new check-in. It needs a name, a prompt, and either every_minutes or daily_at."""

    name = serializers.CharField(max_length=100)
    prompt = serializers.CharField(trim_whitespace=False)


class CheckInRunSerializer(serializers.ModelSerializer[CheckInRun]):
    """What became of a slot."""

    slot_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was due; null if a person started it by hand."
    )
    outcome = serializers.ChoiceField(choices=CheckInOutcome.choices)
    reason = serializers.ChoiceField(
        choices=[("", "It ran"), *SkipReason.choices], help_text="Why it was skipped; else empty."
    )
    count = serializers.IntegerField(
        help_text="How many slots in a row were skipped for this reason; slot_at is the last of them."
    )
    started_by = serializers.CharField(help_text="Who started it by hand; else empty.")
    conversation = serializers.SerializerMethodField(
        help_text="Id, status and reason of its conversation; null if there is none or it is deleted."
    )

    class Meta:
        model = CheckInRun
        fields = (
            "id",
            "slot_at",
            "outcome",
            "reason",
            "count",
            "started_by",
            "conversation",
            "created_at",
        )

    def get_conversation(self, run: CheckInRun) -> dict[str, str] | None:
        current = run.conversation
        if current is None or current.deleted_at is not None:
            return None
        return {"id": str(current.pk), "status": current.status, "reason": current.reason}


class CheckInSerializer(serializers.ModelSerializer[CheckIn]):
    """A check-in of an agent. ``zone`` is the time zone in effect."""

    daily_at = serializers.ListField(child=serializers.CharField())
    weekdays = serializers.ListField(child=serializers.IntegerField())
    active_from = serializers.TimeField(format=HOUR, allow_null=True)
    active_to = serializers.TimeField(format=HOUR, allow_null=True)
    zone = serializers.CharField(source="zone_name", help_text="The time zone in effect.")
    report_to = serializers.SerializerMethodField(
        help_text="The task or doc that gets the reports, with its title; null for nobody."
    )
    next_at = serializers.DateTimeField(
        allow_null=True, help_text="Its next slot; null while it is switched off."
    )
    last_run = serializers.SerializerMethodField(
        help_text="What became of its last slot, or of the last run by hand; null before the first."
    )

    class Meta:
        model = CheckIn
        fields = (
            "id",
            "name",
            "prompt",
            "enabled",
            "every_minutes",
            "daily_at",
            "weekdays",
            "active_from",
            "active_to",
            "time_zone",
            "zone",
            "auto_act",
            "with_tasks",
            "report_to",
            "next_at",
            "last_run",
            "created_at",
            "updated_at",
        )

    def get_report_to(self, check_in: CheckIn) -> dict[str, Any] | None:
        if check_in.task is not None:
            return {"task": check_in.task.number, "title": check_in.task.title}
        if check_in.doc is not None:
            return {"doc": str(check_in.doc.pk), "title": check_in.doc.title}
        return None

    def get_last_run(self, check_in: CheckIn) -> dict[str, Any] | None:
        newest = next(iter(check_in.newest_runs), None)
        return None if newest is None else CheckInRunSerializer(newest).data
