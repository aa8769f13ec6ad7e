"""The way of a running agent to the pull requests of its repositories."""

from __future__ import annotations

from asyncio import to_thread
from uuid import UUID

from paca.engine.tools.pull_requests import OpenedPullRequest, WantedPullRequest
from paca.projects.tools import access
from paca.projects.tools.base import Caller
from paca.repositories import pull_requests
from paca.repositories.pull_requests import PreparedPullRequest
from paca.worker.database import Database

PERMISSION = "conversations:write"


async def open_pull_request(
    wanted: WantedPullRequest, *, agent_id: UUID, conversation_id: UUID, database: Database
) -> OpenedPullRequest:
    """Open a pull request with the rights that the agent's role has now. No thread of the database waits for the git
    server.

    Raises ``NotAllowed`` if the role lacks the permission, what ``prepare`` and ``open_prepared`` raise, and database
    errors.
    """

    def prepare(caller: Caller) -> PreparedPullRequest:
        agent = caller.member.agent
        assert agent is not None
        return pull_requests.prepare(agent, caller.conversation_id, wanted)

    calling = access.CallingAgent(agent_id, conversation_id)
    prepared = await database.call(access.read, calling, PERMISSION, prepare)
    return await to_thread(pull_requests.open_prepared, prepared)
