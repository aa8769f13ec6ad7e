"""Long and parked conversations, created by the process of seeds."""

from datetime import timedelta
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from paca import events
from paca.agents import services as agents
from paca.agents.models import Agent
from paca.conversations import services, store
from paca.conversations.models import Conversation, ModelCall, Trigger
from paca.engine.turn import ModelCallStarted, TurnOutcome
from paca.projects.models import Member, Project, Task, TaskAssignee
from paca.projects.services import projects
from paca.worker import claim, turn_end

EVENTS_A_TURN = 50
OTHER_WORKER = "a worker elsewhere"


def long_conversation(count: int) -> UUID:
    """A finished conversation with about ``count`` events of the usual types."""
    agent = Agent.objects.get(handle="guide")
    me = Member.objects.get(project=agent.project, user__username="admin")
    sent = services.start_chat(agent, text="A long way to go", by=me)
    # It must not be answered by the worker: what follows is its answer.
    Trigger.objects.filter(conversation=sent.conversation_id).update(state="done")
    store.append(sent.conversation_id, events.ConversationStopped(reason="by_person", by="a test"))
    turn = 0
    while Conversation.objects.get(pk=sent.conversation_id).last_seq < count:
        turn += 1
        store.append(sent.conversation_id, *_turn(turn))
    return sent.conversation_id


@transaction.atomic
def parked_conversation() -> UUID:
    """A conversation that is parked because three workers died at its step."""
    agent = Agent.objects.get(handle="guide")
    me = Member.objects.get(project=agent.project, user__username="admin")
    sent = services.start_chat(agent, text="Look around, if you can", by=me)
    mine = Conversation.objects.filter(pk=sent.conversation_id)
    for _ in range(claim.MAX_LOST_WORKERS + 1):
        claim.claim("a worker that dies", lease_seconds=30, limit=1)
        mine.filter(status="running").update(lease_until=timezone.now() - timedelta(seconds=1))
    return sent.conversation_id


@transaction.atomic
def long_run(steps: int) -> UUID:
    """A conversation whose agent has made this many steps of its first turn, and is still at work."""
    agent = Agent.objects.get(handle="guide")
    me = Member.objects.get(project=agent.project, user__username="admin")
    sent = services.start_chat(agent, text="A long run", by=me)
    # Other tests leave conversations that wait for a worker.
    (claimed,) = (
        each
        for each in claim.claim(OTHER_WORKER, lease_seconds=600, limit=50)
        if each.lease.conversation_id == sent.conversation_id
    )
    for step in range(steps):
        call = uuid4()
        usage = events.UsageRecorded(call_id=str(call), model="demo/guide", input=1000, cost_usd=0)
        said = events.MessageSpoken(text=f"Step {step}", call_id=str(call), demo=True)
        entries = (ModelCallStarted(call_id=str(call), model="demo/guide"), usage, said)
        store.append(sent.conversation_id, *entries, lease=claimed.lease)
    return sent.conversation_id


def big_board(count: int, name: str = "Big board") -> UUID:
    """A new project of the admin with this many tasks, evenly in its columns."""
    me = Member.objects.get(project__name="Demo", user__username="admin")
    project = projects.create(me.project.workspace, name, by=me.user)
    owner, kind = project.members.get(), project.task_types.first()
    statuses = list(project.statuses.all())
    tasks = Task.objects.bulk_create(
        Task(
            project=project, number=n, title=f"Task {n}, with a title that takes two lines of its card",
            status=statuses[n % len(statuses)], type=kind, priority=n % 5, position=n, reporter=owner,
        )
        for n in range(1, count + 1)
    )  # fmt: skip
    TaskAssignee.objects.bulk_create(TaskAssignee(task=each, member=owner) for each in tasks)
    Project.objects.filter(pk=project.pk).update(last_task_number=count)
    return project.pk


def used_project() -> UUID:
    """A new project of the admin whose five agents have called models on the last 14 days."""
    me = Member.objects.get(project__name="Demo", user__username="admin")
    project = projects.create(me.project.workspace, "Harbor", by=me.user)
    owner, role = project.members.get(), project.roles.get(name="Agent")
    models = ("anthropic/claude-sonnet-5-5", "anthropic/claude-opus-5-5", "openrouter/any/model")
    calls = []
    for number, name in enumerate(("Rosa", "Theo", "Milo", "Ines", "Juno")):
        model = "vllm/qwen3-32b" if name == "Juno" else models[number % 3]
        agent = agents.create(
            project, name=name, handle=name.lower(), model=model, role=role, by=owner
        )
        for day in range(14):
            for turn in range((14 - day * 5 % 11) // (number + 1) + 1):
                calls.append(_call(agent, day, turn, number))
    ModelCall.objects.bulk_create(calls)
    return project.pk


def _call(agent: Agent, day: int, turn: int, number: int) -> ModelCall:
    moment = timezone.now() - timedelta(days=day)
    return ModelCall(
        id=uuid4(),
        project_id=agent.project_id,
        agent=agent,
        model=agent.model,
        purpose="connection_test" if turn == 5 else "turn",
        status=("done", "done", "done", "failed", "cancelled")[turn % 5],
        input_tokens=4_000 + 100 * turn,
        output_tokens=700,
        cache_read_tokens=60_000 - 9_000 * number,
        started_at=moment,
        finished_at=moment,
        cost_usd=None if agent.name == "Juno" else round(0.61 / (number + 1), 10),
    )


def delete_project(key: str) -> None:
    project = Project.objects.get(pk=key)
    projects.delete(project, by=project.members.get(kind="human"))


def end_long_run(conversation_id: str) -> None:
    """The agent of ``long_run`` answers."""
    row = Conversation.objects.get(pk=conversation_id)
    lease = store.Lease(row.pk, row.lease_owner, row.lease_epoch)
    turn_end.end_turn(lease, (), TurnOutcome("finished", "answered"), steps=190)


def _turn(number: int) -> list[events.Event]:
    found: list[events.Event] = [
        events.MessageReceived(text=f"Question {number}", author_name="admin"),
    ]
    for step in range(EVENTS_A_TURN // 5):
        call, tool = uuid4().hex, uuid4().hex
        found += [
            events.UsageRecorded(
                call_id=call, model="demo/guide", input=100, output=10, cost_usd=0.0
            ),
            events.MessageSpoken(
                text=f"Step {step} of **answer {number}** with `code`.\n\n- one\n- two",
                call_id=call,
                model="demo/guide",
                demo=True,
            ),
            events.ToolCalled(
                call_id=tool,
                tool="bash",
                arguments={"command": f"echo {step}"},
                subject=f"echo {step}",
            ),
            events.ToolStarted(call_id=tool, boot_id="b"),
            events.ToolReturned(call_id=tool, output=f"{step}\n" * 5, exit_code=0, seconds=0.1),
        ]
    return found


def project_of_rosa() -> UUID:
    """A new project of the admin with an agent whose server, on this machine, is not there."""
    me = Member.objects.get(project__name="Demo", user__username="admin")
    project = projects.create(me.project.workspace, "Pier", by=me.user)
    owner, role = project.members.get(), project.roles.get(name="Agent")
    nowhere = {"model": "openai/any", "base_url": "http://127.0.0.1:9/v1"}
    agents.create(project, name="Rosa", handle="rosa", role=role, by=owner, **nowhere)
    return project.pk
