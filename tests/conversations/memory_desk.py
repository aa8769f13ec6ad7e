"""A team whose agent Rosa and whose project have a memory."""

from __future__ import annotations

from typing import Any

from paca.agents import services as agents
from paca.agents.models import Agent
from paca.conversations import memory_lists
from paca.conversations.memory_lists import MemoryOwner
from paca.conversations.models import Conversation, MemoryEntry
from paca.conversations.services import memory, memory_notes
from paca.conversations.services.memory_notes import Noted
from paca.projects.models import Member
from paca.projects.services import projects
from tests.conversations.team import Team


class MemoryDesk:
    """Both memories, and the addresses of the API."""

    def __init__(self, **agent: Any) -> None:
        self.team = Team(**agent)
        self.agent, self.project = self.team.world.agent, self.team.world.project
        self.of_agent = MemoryOwner(self.project, self.agent)
        self.of_project = MemoryOwner(self.project)
        self.url = f"/projects/{self.project.pk}/agents/{self.agent.pk}/memory/"
        self.project_url = f"/projects/{self.project.pk}/memory/"
        self._conversation: Conversation | None = None

    @property
    def conversation(self) -> Conversation:
        """Rosa's conversation on the task."""
        if self._conversation is None:
            self.team.assign()
            self._conversation = self.team.conversation()
        return self._conversation

    def add(self, text: str, *, of: MemoryOwner | None = None, **options: Any) -> MemoryEntry:
        """What Ada adds."""
        return memory.add(of or self.of_agent, text=text, by=self.team.ada, **options)

    def note(
        self,
        text: str,
        *,
        of: MemoryOwner | None = None,
        by: Member | None = None,
        replaces: str = "",
    ) -> Noted:
        """What Rosa notes."""
        return memory_notes.note(
            self.owner(of or self.of_agent),
            text=text,
            by=self.team.member_of((by or self.team.rosa).agent),
            conversation_id=self.conversation.pk,
            replaces=replaces,
        )

    def owner(self, of: MemoryOwner) -> MemoryOwner:
        """The memory with its rows as they are now."""
        self.project.refresh_from_db()
        return memory_lists.owner(self.project, of.agent.pk if of.agent else None)

    def set_policy(self, policy: str, *, project: str | None = None) -> None:
        agents.configure(Agent.objects.get(pk=self.agent.pk), by=self.team.ada, memory=policy)
        if project is not None:
            projects.change(self.project, by=self.team.ada, memory=project)

    def texts(self, of: MemoryOwner | None = None) -> list[str]:
        """The accepted texts, the oldest first."""
        found = (of or self.of_agent).entries.accepted().order_by("accepted_at", "pk")
        return [entry.text for entry in found]

    def waiting(self, of: MemoryOwner | None = None) -> list[MemoryEntry]:
        return list((of or self.of_agent).entries.waiting().order_by("created_at", "pk"))

    def prompt(self, trigger_type: str = "chat_message") -> str:
        """The part of the next prompt, as the preview shows it."""
        url = f"/projects/{self.project.pk}/agents/{self.agent.pk}/preview/"
        answer = self.team.api.get(f"{url}?trigger_type={trigger_type}")
        parts = [part["text"] for part in answer.data["parts"] if part["name"] == "memory"]
        return "".join(parts)
