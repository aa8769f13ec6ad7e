"""People, agents' tools, deliveries and ends of turns write on the same task at the same time, without a deadlock."""

import random
from contextlib import suppress
from functools import partial

import pytest

from paca import events
from paca.common.errors import NotFound, PacaError
from paca.conversations import services
from paca.conversations.models import Conversation, PendingTrigger, Turn
from paca.conversations.models.statuses import IllegalStatusMove
from paca.conversations.services import delivery
from paca.conversations.store import Fenced, require_lease
from paca.projects.models import Comment, Member, Task
from paca.projects.services import comments, tasks
from paca.projects.tools import access
from paca.worker import claim, turn_end
from tests.conversations.team import ANSWERED, Team
from tests.database.concurrency import run_concurrently

pytestmark = pytest.mark.django_db(transaction=True)


def test_two_mentions_at_once_are_one_conversation():
    team = Team()

    def mention(number: int) -> None:
        comments.add(team.task, text=f"@rosa {number}", by=team.ada)

    run_concurrently(partial(mention, number) for number in range(8))
    assert not PendingTrigger.objects.exists()
    assert Conversation.objects.count() == 1
    assert len(team.messages()) == 8


def test_writers_of_tasks_and_turns_never_deadlock(settings):
    settings.AGENT_MAX_HOPS = settings.AGENT_CALLS_PER_HOUR = 1_000
    team = Team(limit_concurrent=10)
    kai = team.hire("Kai", limit_concurrent=10)
    others = [team.add_task("Another one"), team.add_task("A third")]
    subjects = [team.task, *others]
    both = "@rosa and @kai, look"

    def people(number: int) -> None:
        order = random.Random(number)
        for _ in range(4):
            task = order.choice(subjects)
            with suppress(NotFound):
                order.choice(
                    [
                        partial(comments.add, task, text=both, by=team.ada),
                        partial(tasks.assign, task, to=order.choice([team.rosa, kai]), by=team.ada),
                        partial(tasks.change, task, by=team.ada, assignees=[]),
                        partial(services.stop_conversations_of_deleted),
                        partial(delivery.deliver_due),
                        partial(delete_and_restore, order.choice(others), team.ada),
                    ]
                )()

    def work(number: int) -> None:
        order = random.Random(number)
        for step in range(4):
            for claimed in claim.claim(f"worker {number}", lease_seconds=60, limit=1):
                with suppress(Fenced, IllegalStatusMove, PacaError):
                    use_tools(claimed, order.choice(subjects), f"{number}-{step}")
                spoken = [events.MessageSpoken(text=f"{both}. {number}")]
                turn_end.end_turn(claimed.lease, spoken, ANSWERED, steps=1)

    def use_tools(claimed: claim.Claimed, task: Task, call: str) -> None:
        lease = claimed.lease
        agent = access.CallingAgent(claimed.rows.agent.pk, lease.conversation_id)

        def act(caller: access.Caller) -> str:
            comments.add(task, text=both, by=caller.member)
            tasks.change(task, by=caller.member, assignees=[team.rosa, kai])
            return "done"

        access.write(agent, call, "tasks:write", act, require_lease=partial(require_lease, lease))

    run_concurrently(
        [*(partial(people, n) for n in range(4)), *(partial(work, n) for n in range(4))]
    )
    assert_one_conversation_and_answer_each(both)


def assert_one_conversation_and_answer_each(text: str) -> None:
    for conversation in Conversation.objects.all():
        finished = Turn.objects.filter(conversation=conversation, status="finished").count()
        posted = Comment.objects.filter(
            conversation_id=conversation.pk, text__startswith=f"{text}."
        )
        assert posted.count() <= finished
    keys = Conversation.objects.values_list("agent_id", "task_id")
    assert len(keys) == len(set(keys))


def delete_and_restore(task: Task, by: Member) -> None:
    tasks.delete(task, by=by)
    tasks.restore(task, by=by)
