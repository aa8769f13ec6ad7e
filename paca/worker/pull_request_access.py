"""The way of a running agent to the pull requests of its repositories."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from paca.common.secret_removal import SecretMask
from paca.engine.tools.pull_requests import (
    OpenedPullRequest,
    PullRequestRefused,
    WantedPullRequest,
)
from paca.projects.tools import access
from paca.projects.tools.base import Caller
from paca.repositories import pull_requests
from paca.repositories.pull_requests import PreparedPullRequest
from paca.worker import git_server_threads
from paca.worker.database import Database
from paca.worker.event_masking import mask_of_agent

PERMISSION = "conversations:write"


async def open_pull_request(
    wanted: WantedPullRequest, *, agent_id: UUID, conversation_id: UUID, database: Database
) -> OpenedPullRequest:
    """Open a pull request with the rights that the agent's role has now. No thread of the database waits for the git
    server. Its title and body are sent without the secrets that Paca knows now: a person may have stored one after the
    model wrote the text.

    Raises ``NotAllowed`` if the role lacks the permission, what ``prepare`` and ``open_prepared`` raise, and database
    errors.
    """

    def prepare(caller: Caller) -> PreparedPullRequest:
        agent = caller.member.agent
        assert agent is not None
        public = without_secrets(wanted, mask_of_agent(agent_id))
        return pull_requests.prepare(agent, caller.conversation_id, public)

    calling = access.CallingAgent(agent_id, conversation_id)
    prepared = await database.call(access.read, calling, PERMISSION, prepare)
    opened = await git_server_threads.call(
        prepared.repository.project_id, pull_requests.open_prepared, prepared
    )
    return replace(opened, masked=prepared.wanted != wanted)


def without_secrets(wanted: WantedPullRequest, mask: SecretMask) -> WantedPullRequest:
    """The pull request with masks in its title and body. Raises ``PullRequestRefused`` if the name of a branch holds a
    secret: with a mask it would be another branch.
    """
    for name in (wanted.branch, wanted.base):
        if mask.text(name) != name:
            raise PullRequestRefused("The name of the branch holds a secret. Push another branch.")
    # guard: pull-requests-hold-no-secret
    return replace(wanted, title=mask.text(wanted.title), body=mask.text(wanted.body))
