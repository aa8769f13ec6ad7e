"""The way of a running agent to the pull requests of its repositories."""

from __future__ import annotations

from asyncio import to_thread

from paca.engine.tools.pull_requests import OpenedPullRequest, WantedPullRequest
from paca.projects.tools.base import Caller, ProjectAccess
from paca.repositories import pull_requests
from paca.repositories.pull_requests import PreparedPullRequest

PERMISSION = "conversations:write"


class RunPullRequestAccess:
    """Implements ``PullRequestAccess`` for one claimed conversation."""

    def __init__(self, access: ProjectAccess) -> None:
        self._access = access

    async def open(self, wanted: WantedPullRequest) -> OpenedPullRequest:
        """Raises ``NotAllowed`` if the agent's role lacks the permission, what ``prepare`` and ``open_prepared`` raise, and
        database errors.

        No thread of the database waits for the git server.
        """

        def prepare(caller: Caller) -> PreparedPullRequest:
            agent = caller.member.agent
            assert agent is not None
            return pull_requests.prepare(agent, caller.conversation_id, wanted)

        prepared = await self._access.read(PERMISSION, prepare)
        return await to_thread(pull_requests.open_prepared, prepared)
