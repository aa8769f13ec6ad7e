"""The conversations of a part: begun as people begin them, and watched until they rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from paca.accounts.models import User
from paca.accounts.services import tokens
from paca.agents.models import Agent
from paca.conversations import services
from paca.conversations.models import Event
from paca.projects.services import members, workspaces
from tests.chaos.stories import Stories, Story
from tests.support.flow import IDLE_STATUSES, ObservedConversation, wait_until
from tests.support.model_server import ModelServer
from tests.support.world import MODEL, World, make_world


class Cast:
    """One agent, whose model tells each conversation's story, and which of them still run."""

    def __init__(self, model: ModelServer, name: str) -> None:
        self._stories = Stories(model)
        self._world = make_world(
            name,
            model=MODEL,
            base_url=model.base_url,
            llm_api_key="sk-test-1234",
            limit_concurrent=10,
        )
        self.running: list[tuple[ObservedConversation, Story]] = []
        self.begun = self.calls = self.parked = 0

    @property
    def world(self) -> World:
        return self._world

    def know(self, story: Story) -> Story:
        """Be ready to tell it to whoever begins it."""
        return self._stories.add(story)

    def begin(self, story: Story) -> ObservedConversation:
        self.know(story)
        sent = services.start_chat(self._world.agent, text=story.opening, by=self._world.owner)
        return self.adopt(ObservedConversation(sent.conversation_id), story)

    def adopt(self, told: ObservedConversation, story: Story) -> ObservedConversation:
        """Watch what was begun otherwise."""
        self.begun += 1
        self.running.append((told, story))
        return told

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Nobody takes what is begun meanwhile: the agent is paused."""
        agents = Agent.objects.filter(pk=self._world.agent.pk)
        agents.update(status=Agent.Status.PAUSED)
        try:
            yield
        finally:
            agents.update(status=Agent.Status.ACTIVE)

    def rested(self) -> list[tuple[ObservedConversation, Story]]:
        """Those that have come to their end since; one that is parked is carried on, as people do."""
        found = []
        for told, story in list(self.running):
            row = told.row
            if (row.status, row.reason) == ("paused", "parked"):
                self.parked += 1
                services.continue_(row, by=self._world.owner)
            elif row.status in IDLE_STATUSES:
                self.running.remove((told, story))
                called = Event.objects.filter(conversation=told.id, type="agent.tool.called")
                self.calls += called.count()
                found.append((told, story))
        return found

    def wait_for_all(self, seconds: float) -> list[tuple[ObservedConversation, Story]]:
        """Until none runs any more; all of them."""
        found: list[tuple[ObservedConversation, Story]] = []

        def over() -> bool:
            found.extend(self.rested())
            return not self.running

        wait_until(over, seconds, self.where)
        return found

    def where(self) -> str:
        """How far those are that still run."""
        return "; ".join(
            f"{told.id} {told.status} {told.event_types[-4:]}" for told, _ in self.running
        )

    # --- over the API -------------------------------------------------------------------------------

    @cached_property
    def token(self) -> str:
        user = self._world.user
        _, secret = tokens.create(user, name="chaos", scopes=[], by=user)
        return secret

    def guest(self, name: str) -> str:
        """The token of another person of the project."""
        made = self._world
        user = User.objects.create_user(username=name, password="a long password 7")
        workspaces.add_person(made.project.workspace, user=user)
        members.add_person(made.project, user=user, role=made.role("member"), by=made.user)
        _, secret = tokens.create(user, name="chaos", scopes=[], by=user)
        return secret

    @property
    def conversations(self) -> str:
        """What stands before the id of each of them."""
        return f"/api/v1/projects/{self._world.agent.project_id}/conversations/"

    @property
    def chats(self) -> str:
        """Where a message begins a conversation with the agent."""
        agent = self._world.agent
        return f"/api/v1/projects/{agent.project_id}/agents/{agent.pk}/chat-sessions/"
