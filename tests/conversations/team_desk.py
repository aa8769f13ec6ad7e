"""A lead with its team, a worker played by the test, and a clock that the test moves."""

from __future__ import annotations

import functools
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.utils import timezone

from paca import events
from paca.conversations import services, store
from paca.conversations.models import Conversation, Teammate, TeamRequest, TeamTask
from paca.conversations.services.teams import settling
from paca.conversations.store import Lease
from paca.engine.teams import tools
from paca.engine.turn import TurnOutcome
from paca.projects.models import Task
from paca.projects.tools import access
from paca.worker import claim, team_access, turn_end
from tests.conversations.team import ANSWERED, Team, store_events

TOOLS = {tool.name: tool for tool in (*tools.OF_LEAD, *tools.OF_TEAMMATE)}


class TeamDesk:
    """A project whose agent Rosa leads a team: ``lead`` is its conversation, and its turn runs."""

    def __init__(self, **agent: Any) -> None:
        self.team = Team(**{"teams": True, "limit_concurrent": 10, **agent})
        self.now = timezone.now()
        self.leases: dict[Any, Lease] = {}
        self.begin()

    def begin(self) -> None:
        """A new lead, in a chat of its own."""
        sent = services.start_chat(self.team.world.agent, text="Lead a team.", by=self.team.ada)
        self.lead = Conversation.objects.get(pk=sent.conversation_id)
        self.claim()

    # --- the worker -------------------------------------------------------------------------------

    def claim(self) -> list[Conversation]:
        """Claim every conversation that waits; gives them."""
        claimed = claim.claim("w", lease_seconds=600, limit=20)
        for one in claimed:
            self.leases[one.lease.conversation_id] = one.lease
        found = [one.lease.conversation_id for one in claimed]
        return list(Conversation.objects.filter(pk__in=found))

    def call(
        self,
        who: Conversation | Teammate,
        tool: str,
        *,
        call_id: str = "",
        allowance: dict[str, Any] | None = None,
        **arguments: Any,
    ) -> str:
        """Call a tool of the team in a running turn. ``allowance`` is what is left for a teammate that it spawns."""
        conversation_id = who.conversation_id if isinstance(who, Teammate) else who.pk
        lease = self.leases[conversation_id]
        kind = TOOLS[tool]
        act = functools.partial(
            team_access.perform,
            tool=tool,
            arguments=kind.Arguments.model_validate(arguments),
            allowance=allowance,
        )
        permission = "tasks:write" if kind.writes_tasks else "conversations:write"
        return access.write(
            access.CallingAgent(self.team.world.agent.pk, conversation_id),
            call_id or uuid4().hex,
            permission,
            act,
            require_lease=functools.partial(store.require_lease, lease),
        )

    def end(
        self, who: Conversation | Teammate, answer: str = "Done.", outcome: TurnOutcome = ANSWERED
    ) -> None:
        """End the running turn of a conversation, and settle what follows."""
        conversation_id = who.conversation_id if isinstance(who, Teammate) else who.pk
        lease = self.leases.pop(conversation_id)
        spoken = [events.MessageSpoken(text=answer)] if answer else []
        if turn_end.end_turn(lease, spoken, outcome, steps=1):
            self.leases[conversation_id] = lease  # the next turn answers messages of meanwhile
        self.settle()

    def settle(self, *, after: float = 0) -> None:
        """Let a worker look, ``after`` so many seconds."""
        self.now = max(self.now, timezone.now()) + timedelta(seconds=after)
        settling.settle_due(now=self.now)

    # --- the team ---------------------------------------------------------------------------------

    def spawn(self, name: str = "ann", **wanted: Any) -> Teammate:
        """A teammate that has begun its first turn."""
        self.call(
            self.lead,
            "spawn_teammate",
            **{"name": name, "role": "coder", "work": "Do it.", **wanted},
        )
        self.claim()
        return self.mate(name)

    def idle(self, name: str = "ann", **wanted: Any) -> Teammate:
        """A teammate that has ended its first turn."""
        mate = self.spawn(name, **wanted)
        self.end(mate)
        return self.mate(name)

    def mate(self, name: str) -> Teammate:
        return Teammate.objects.select_related("conversation").get(lead=self.lead, name=name)

    def state(self, name: str = "ann") -> str:
        mate = self.mate(name)
        return f"{mate.state.value}/{mate.end_reason}" if mate.end_reason else mate.state.value

    def status(self, who: Conversation | Teammate | None = None) -> str:
        pk = who.conversation_id if isinstance(who, Teammate) else (who or self.lead).pk
        return Conversation.objects.get(pk=pk).status

    def messages(self, who: Conversation | Teammate | None = None) -> list[str]:
        """The texts of the team that a conversation was given, the oldest first."""
        pk = who.conversation_id if isinstance(who, Teammate) else (who or self.lead).pk
        log = store_events(Conversation.objects.get(pk=pk))
        return [
            event.text
            for event in log
            if isinstance(event, events.MessageReceived) and event.trigger == "teammate"
        ]

    def told(self, kind: type[events.Event]) -> list[Any]:
        """The events of a kind in the log of the lead."""
        return [each for each in store_events(self.lead) if isinstance(each, kind)]

    def request(self, state: str = "open") -> TeamRequest:
        return TeamRequest.objects.get(teammate__lead=self.lead, state=state)

    def plan(self, *titles: str) -> list[Task]:
        """New tasks in the plan of the team."""
        found = [self.team.add_task(title) for title in titles]
        self.call(self.lead, "add_team_tasks", tasks=[task.key for task in found])
        return found

    def claims(self) -> dict[str, str]:
        """The name of the teammate that has each task, by title."""
        rows = TeamTask.objects.filter(lead=self.lead, teammate__isnull=False)
        return {
            row.task.title: row.teammate.name for row in rows.select_related("task", "teammate")
        }
