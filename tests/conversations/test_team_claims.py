"""A team of five on ten tasks that depend on one another: whatever dies and when, each task is claimed once.

``TEAM_SEEDS=200`` runs so many seeded runs. Workers are played by the test: they claim conversations, die in a turn or
in the middle of a transaction, and look at the team twice; the order is that of the seed.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from paca.conversations.models import Conversation, Teammate, TeamTask
from paca.conversations.services.teams import board, messages, settling
from paca.conversations.services.teams.settling import BUSY
from paca.engine.teams.requests import MAX_TEAMMATES
from paca.projects.models import Task
from paca.projects.services import tasks
from tests.conversations.team_desk import TeamDesk

pytestmark = pytest.mark.django_db
SEEDS = int(os.environ.get("TEAM_SEEDS", "3"))
TASKS = 10
MAX_ROUNDS = 400
# Where a process may die while it settles a team.
POINTS = ((board, "_claim"), (messages, "deliver"), (messages, "tell"), (board, "tell"))


class Killed(BaseException):
    """The process is gone."""


class Run:
    """One seeded run of a team."""

    def __init__(self, desk: TeamDesk, seed: int) -> None:
        self.desk, self.random = desk, random.Random(seed)
        # What the run before has left at work would take the agent's places.
        Conversation.objects.filter(status__in=BUSY).update(status="stopped")
        desk.begin()
        self.done = desk.team.world.project.statuses.filter(category="done").first()
        for n in range(MAX_TEAMMATES):
            desk.call(desk.lead, "spawn_teammate", name=f"mate{n}", role="coder", work="Wait.")
        self.tasks = [desk.team.add_task(f"Task {n}") for n in range(TASKS)]
        for n, task in enumerate(self.tasks):
            blockers = self.random.sample(self.tasks[:n], min(n, self.random.randrange(3)))
            tasks.change(task, by=desk.team.ada, blocked_by=blockers)
        order = self.random.sample(self.tasks, TASKS)
        desk.call(desk.lead, "add_team_tasks", tasks=[task.key for task in order])
        self.claimed_blocked: list[str] = []

    def go(self) -> None:
        """Act until every task is done."""
        steps = (
            self.work,
            self.work,
            self.end_turn,
            self.end_turn,
            self.kill_worker,
            self.die,
            self.settle,
        )
        for _ in range(MAX_ROUNDS):
            self.random.choice(steps)()
            if not Task.objects.filter(pk__in=[t.pk for t in self.tasks]).open().exists():
                return
        raise AssertionError(f"not done: {self.desk.claims()}")

    def work(self) -> None:
        self.desk.claim()

    def running(self) -> list[Teammate]:
        found = Teammate.objects.select_related("conversation").filter(
            lead=self.desk.lead, conversation__status="running"
        )
        return [mate for mate in found if mate.conversation_id in self.desk.leases]

    def end_turn(self) -> None:
        """End the turn of a teammate. Its task is done then."""
        if not (mates := self.running()):
            return
        mate = self.random.choice(mates)
        for row in TeamTask.objects.filter(teammate=mate, closed_at=None):
            if board.TaskDependency.objects.filter(
                task=row.task, blocked_by__status__category="todo"
            ).exists():
                self.claimed_blocked.append(row.task.key)
            tasks.change(row.task, by=self.desk.team.rosa, status=self.done)
        self.desk.end(mate, "Done.")

    def kill_worker(self) -> None:
        """A worker is lost. Its lease runs out, and the next one carries the turn on."""
        if mates := self.running():
            mate = self.random.choice(mates)
            self.desk.leases.pop(mate.conversation_id)
            late = timezone.now() - timedelta(seconds=1)
            Conversation.objects.filter(pk=mate.conversation_id).update(
                lease_until=late, lost_workers=0
            )

    def die(self) -> None:
        """A process dies in the middle of settling, before its commit."""
        module, name = self.random.choice(POINTS)
        with pytest.MonkeyPatch.context() as patch:

            def killed(*args: object, **kwargs: object) -> None:
                raise Killed

            patch.setattr(module, name, killed)
            try:
                with transaction.atomic():
                    settling.settle(self.desk.lead.pk, now=timezone.now())
            except Killed:
                return

    def settle(self) -> None:
        """Two workers look at the same time."""
        for _ in range(2):
            settling.settle_due(now=timezone.now())

    def check(self) -> None:
        """Each task was claimed once, by one teammate, which was told once; none before what blocks it."""
        logs = [
            text
            for mate in Teammate.objects.filter(lead=self.desk.lead)
            for text in self.desk.messages(mate)
        ]
        told = Counter(
            key
            for task in self.tasks
            for key in [task.key]
            for text in logs
            if f"claimed {key}:" in text
        )
        assert told == {task.key: 1 for task in self.tasks}
        rows = TeamTask.objects.filter(lead=self.desk.lead)
        assert rows.exclude(teammate=None).count() == rows.count() == TASKS
        claimed_at = {row.task_id: row.claimed_at for row in rows}
        closed_at = {row.task_id: row.closed_at for row in rows}
        for task in self.tasks:
            for blocker in task.dependencies.all():
                at = closed_at[blocker.blocked_by_id]
                assert at is None or at <= claimed_at[task.pk]
        assert not self.claimed_blocked


def test_each_task_is_claimed_once_in_every_seeded_run():
    desk = TeamDesk(limit_concurrent=10)
    for seed in range(SEEDS):
        run = Run(desk, seed)
        run.go()
        run.check()
        for mate in run.running():
            desk.leases.pop(mate.conversation_id)
        Teammate.objects.filter(lead=desk.lead).update(ended_at=timezone.now(), end_reason="idle")
