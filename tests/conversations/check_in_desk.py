"""A team whose agent Rosa has a check-in, and a clock that the test moves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from paca.conversations.models import CheckIn, CheckInRun, Conversation
from paca.conversations.services import check_in_runs, check_ins
from tests.conversations.team import Team


class CheckInDesk:
    """Rosa's check-in of each hour, and the addresses of the API."""

    def __init__(self, **settings: Any) -> None:
        self.team = Team()
        self.agent = self.team.world.agent
        if "daily_at" not in settings:
            settings.setdefault("every_minutes", 60)
        settings = {"name": "Look at the board", "prompt": "What is stuck?", **settings}
        self.check_in = check_ins.create(self.agent, by=self.team.ada, **settings)
        self.url = f"/projects/{self.team.world.project.pk}/agents/{self.agent.pk}/check-ins/"
        self.one_url = f"{self.url}{self.check_in.pk}/"

    @property
    def next_at(self) -> datetime:
        next_at = CheckIn.objects.get(pk=self.check_in.pk).next_at
        assert next_at is not None
        return next_at

    @property
    def runs(self) -> list[CheckInRun]:
        """The history, the oldest first."""
        return list(self.check_in.runs.select_related("conversation").order_by("created_at", "pk"))

    @property
    def outcomes(self) -> list[tuple[str, int]]:
        """Reason, or ``ran``, and number of slots of each entry of the history, the oldest first."""
        return [(run.reason or "ran", run.count) for run in self.runs]

    def come(self, *, late: timedelta = timedelta(seconds=1)) -> datetime | None:
        """Let the worker look when the next slot is due."""
        return check_in_runs.take_due(self.next_at + late)

    def change(self, **settings: Any) -> None:
        check_ins.change(CheckIn.objects.get(pk=self.check_in.pk), by=self.team.ada, **settings)

    @property
    def conversations(self) -> list[Conversation]:
        return list(Conversation.objects.filter(trigger_type="check_in").order_by("created_at"))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def now() -> datetime:
    return timezone.now()
