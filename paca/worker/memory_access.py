"""The way of a running agent to its memory: as it writes on its project, by its lease."""

from __future__ import annotations

from uuid import UUID

from paca.agents.memory_tool import About
from paca.conversations import memory_lists, store
from paca.conversations.services import memory_notes
from paca.conversations.store import Lease
from paca.projects.tools.base import Caller
from paca.worker.project_access import RunProjectAccess


class RunMemoryAccess:
    """Implements ``agents.memory_tool.MemoryAccess`` for one claimed conversation."""

    def __init__(self, lease: Lease, agent_id: UUID, access: RunProjectAccess) -> None:
        self._lease, self._agent_id, self._access = lease, agent_id, access

    async def note(self, call_id: str, *, about: About, text: str, replaces: str) -> str:
        """The entry, its event and the result of the call are stored in one transaction.

        Raises what ``RunProjectAccess.write`` and ``memory_notes.note`` raise.
        """

        def act(caller: Caller) -> str:
            owner = memory_lists.owner(caller.project, self._agent_id if about == "me" else None)
            noted = memory_notes.note(
                owner,
                text=text,
                replaces=replaces,
                by=caller.member,
                conversation_id=caller.conversation_id,
            )
            if noted.event is not None:
                store.append(caller.conversation_id, noted.event, lease=self._lease)
            return noted.said

        needed = memory_notes.PERMISSIONS["agent" if about == "me" else "project"]
        return await self._access.write(call_id, needed, act)

    async def find_result(self, call_id: str) -> str | None:
        """Raises database errors."""
        return await self._access.find_result(call_id)
