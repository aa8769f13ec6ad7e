"""A project with tasks for tests: people and agents in it, and a worker played by the test."""

from typing import Any

from paca import events
from paca.agents import services as agents
from paca.agents.models import Agent
from paca.conversations import event_log, store
from paca.conversations.models import Conversation, PendingTrigger
from paca.conversations.services import delivery
from paca.conversations.store import Lease
from paca.engine.turn import LogEntry, TurnOutcome
from paca.projects.models import Comment, Doc, Member, Task
from paca.projects.services import comments, tasks
from paca.worker import claim, turn_end
from tests.support.api import Api
from tests.support.world import make_world

ANSWERED = TurnOutcome("finished", "answered")


class Team:
    """A project with its owner (``ada``), the agent Rosa and one task."""

    def __init__(self, **agent: Any) -> None:
        self.world = make_world(**agent)
        self.api = Api(self.world.user)
        self.ada = self.world.owner
        self.rosa = self.member_of(self.world.agent)
        self.task = self.add_task("Fix the login", description="It fails with umlauts.")

    def member_of(self, agent: Agent) -> Member:
        return Member.objects.with_names().get(agent=agent)

    def hire(self, name: str, role: str = "agent", **settings: Any) -> Member:
        """Another agent of the project."""
        settings = {"handle": name.lower(), "model": "demo/guide", **settings}
        agent = agents.create(
            self.world.project, name=name, role=self.world.role(role), by=self.ada, **settings
        )
        return self.member_of(agent)

    def add_task(self, title: str, **fields: Any) -> Task:
        return tasks.create(self.world.project, title=title, by=self.ada, **fields)

    def add_doc(self, title: str = "Notes", text: str = "All of it.") -> Doc:
        return Doc.objects.create(
            project=self.world.project, title=title, text=text, updated_by=self.ada
        )

    # --- causes: each is delivered as after its commit ----------------------------------------------

    def assign(self, to: Member | None = None, *, by: Member | None = None) -> None:
        tasks.assign(self.task, to=to or self.rosa, by=by or self.ada)
        self.deliver()

    def comment(
        self, text: str, *, by: Member | None = None, on: Task | Doc | None = None, **options: Any
    ) -> Comment:
        """Comment on the task, or on another object."""
        comment = comments.add(on or self.task, text=text, by=by or self.ada, **options)
        self.deliver()
        return comment

    def deliver(self) -> None:
        """Deliver what waits. The callbacks after a commit do not run in a test's transaction."""
        for pending_id in PendingTrigger.objects.values_list("pk", flat=True):
            delivery.deliver(pending_id)

    # --- the worker -------------------------------------------------------------------------------

    def start_turn(self, *entries: LogEntry) -> Lease:
        """Claim the conversation that waits longest."""
        (claimed,) = claim.claim("test", lease_seconds=60, limit=1)
        if entries:
            store.append(claimed.lease.conversation_id, *entries, lease=claimed.lease)
        return claimed.lease

    def run_turn(
        self, answer: str = "Done.", *before: LogEntry, outcome: TurnOutcome = ANSWERED
    ) -> Conversation:
        """A whole turn of the conversation that waits longest: claim, entries, answer, end."""
        lease = self.start_turn(*before)
        spoken = [events.MessageSpoken(text=answer)] if answer else []
        turn_end.end_turn(lease, spoken, outcome, steps=1)
        self.deliver()
        return Conversation.objects.get(pk=lease.conversation_id)

    # --- what people see ----------------------------------------------------------------------------

    @property
    def said(self) -> list[tuple[str, str]]:
        """Author and text of each comment on the task."""
        found = Comment.objects.live().filter(task=self.task).select_related("author__agent")
        return [(comment.author.name, comment.text) for comment in found]

    @property
    def timeline(self) -> list[str]:
        return list(self.task.activities.values_list("kind", flat=True))

    def conversation(self, agent: Member | None = None) -> Conversation:
        """The agent's only conversation."""
        return Conversation.objects.get(agent=(agent or self.rosa).agent)

    def messages(self, agent: Member | None = None) -> list[str]:
        """The texts that the agent was given, the oldest first."""
        log = store_events(self.conversation(agent))
        return [event.text for event in log if isinstance(event, events.MessageReceived)]


def store_events(conversation: Conversation) -> list[events.Event]:
    return [event for _, event in event_log.load_after(conversation.pk, 0)]
