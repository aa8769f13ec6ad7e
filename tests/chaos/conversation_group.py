"""The conversations of a part: started as people start them, and watched until they end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from paca.accounts.models import User
from paca.accounts.services import tokens
from paca.agents.models import Agent
from paca.conversations import services
from paca.conversations.models import Event
from paca.projects.services import members, workspaces
from tests.chaos.scripts import Script, ScriptedModel
from tests.support.flow import IDLE_STATUSES, ObservedConversation, wait_until
from tests.support.model_server import ModelServer
from tests.support.world import MODEL, World, make_world


class ConversationGroup:
    """One agent with a scripted model, and the conversations of it that still run."""

    def __init__(self, model: ModelServer, name: str) -> None:
        self._model = model
        self._scripts = ScriptedModel(model)
        self._world = make_world(
            name,
            model=MODEL,
            base_url=model.base_url,
            llm_api_key="sk-test-1234",
            limit_concurrent=10,
        )
        self.running: list[tuple[ObservedConversation, Script]] = []
        self.begun = self.calls = self.parked = 0

    @property
    def world(self) -> World:
        return self._world

    def add_script(self, script: Script) -> Script:
        """Add a script without a conversation; its first message starts it."""
        return self._scripts.add(script)

    def begin(self, script: Script, *, plan: bool = False) -> ObservedConversation:
        """Start the conversation of the script; ``plan``: in plan mode."""
        self.add_script(script)
        sent = services.start_chat(
            self._world.agent, text=script.first_message, by=self._world.owner, plan=plan
        )
        return self.watch(ObservedConversation(sent.conversation_id), script)

    def watch(self, observed: ObservedConversation, script: Script) -> ObservedConversation:
        """Add a conversation that was started elsewhere."""
        self.begun += 1
        self.running.append((observed, script))
        return observed

    def requests_of(self, script: Script) -> Counter[str]:
        """How many requests of the conversation the server of the models has received, by model."""
        mark = f"[story {script.mark}]"
        asked = (each.body for each in self._model.requests if mark in str(each.messages[0]))
        return Counter(body["model"] for body in asked)

    @contextmanager
    def agent_paused(self) -> Iterator[None]:
        """Pause the agent: conversations that are started meanwhile stay queued."""
        agents = Agent.objects.filter(pk=self._world.agent.pk)
        agents.update(status=Agent.Status.PAUSED)
        try:
            yield
        finally:
            agents.update(status=Agent.Status.ACTIVE)

    def take_idle(self) -> list[tuple[ObservedConversation, Script]]:
        """Remove and give the conversations that have ended. A parked one is continued, as people do."""
        found = []
        for observed, script in list(self.running):
            row = observed.row
            if (row.status, row.reason) == ("paused", "parked"):
                self.parked += 1
                services.continue_(row, by=self._world.owner)
            elif row.status in IDLE_STATUSES:
                self.running.remove((observed, script))
                called = Event.objects.filter(conversation=observed.id, type="agent.tool.called")
                self.calls += called.count()
                found.append((observed, script))
        return found

    def wait_for_all(self, seconds: float) -> list[tuple[ObservedConversation, Script]]:
        """Wait until no conversation runs; gives all of them."""
        found: list[tuple[ObservedConversation, Script]] = []

        def over() -> bool:
            found.extend(self.take_idle())
            return not self.running

        wait_until(over, seconds, self.describe_running)
        return found

    def describe_running(self) -> str:
        """Status and last events of the conversations that still run, for an error message."""
        return "; ".join(
            f"{observed.id} {observed.status} {observed.event_types[-4:]}"
            for observed, _ in self.running
        )

    # --- over the API -------------------------------------------------------------------------------

    @cached_property
    def token(self) -> str:
        user = self._world.user
        _, secret = tokens.create(user, name="chaos", scopes=[], by=user)
        return secret

    def member_token(self, name: str) -> str:
        """Create another member of the project; gives the API token."""
        made = self._world
        user = User.objects.create_user(username=name, password="a long password 7")
        workspaces.add_person(made.project.workspace, user=user)
        members.add_person(made.project, user=user, role=made.role("member"), by=made.user)
        _, secret = tokens.create(user, name="chaos", scopes=[], by=user)
        return secret

    @property
    def conversations(self) -> str:
        """The API path of the conversations, to which an id is appended."""
        return f"/api/v1/projects/{self._world.agent.project_id}/conversations/"

    @property
    def chat_sessions_path(self) -> str:
        """The API path on which a message starts a conversation with the agent."""
        agent = self._world.agent
        return f"/api/v1/projects/{agent.project_id}/agents/{agent.pk}/chat-sessions/"
