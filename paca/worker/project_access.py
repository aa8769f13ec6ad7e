"""The way of a running agent to its project's data: through the worker's database threads, by its lease."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar
from uuid import UUID

from paca.conversations import store
from paca.conversations.store import Lease
from paca.projects.tools import access
from paca.projects.tools.base import Act, Caller
from paca.worker.database import Database

P = ParamSpec("P")
T = TypeVar("T")


class RunProjectAccess:
    """Implements ``projects.tools.base.ProjectAccess`` for one claimed conversation."""

    def __init__(self, lease: Lease, agent_id: UUID, database: Database) -> None:
        self._lease = lease
        self._agent = access.CallingAgent(agent_id, lease.conversation_id)
        self._database = database

    async def read(self, permission: str, act: Callable[[Caller], T]) -> T:
        """Raises ``NotAllowed``, the errors of ``act`` and database errors."""
        return await self._database.call(access.read, self._agent, permission, act)

    async def write(self, call_id: str, permission: str, act: Act) -> str:
        """Raises ``NotAllowed``, the errors of ``act``, database errors, and ``Fenced`` if the lease is lost."""
        return await self._to_its_end(
            access.write,
            self._agent,
            call_id,
            permission,
            act,
            require_lease=functools.partial(store.require_lease, self._lease),
        )

    async def find_result(self, call_id: str) -> str | None:
        """Raises database errors."""
        return await self._database.call(access.find_result, self._agent, call_id)

    async def _to_its_end(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of ``function`` even if the caller is cancelled: a Stop comes too late for it.

        Otherwise the log would say of a comment that people see that it was stopped.
        """
        job = asyncio.ensure_future(self._database.call(function, *args, **kwargs))
        while not job.done():
            try:
                await asyncio.wait({job})
            except asyncio.CancelledError:
                continue
        return job.result()
