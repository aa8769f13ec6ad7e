"""The way of a running agent to its repositories, and a worker's answers to the broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from uuid import UUID

from paca.common.best_effort import tolerated
from paca.common.errors import PacaError
from paca.conversations import push_attempts
from paca.conversations.models import Conversation
from paca.engine.tools.pull_requests import OpenedPullRequest, WantedPullRequest
from paca.engine.tools.repositories import LinkedRepository, RemoteState, RepositoryRefused
from paca.engine.workspace import SandboxUnavailable
from paca.repositories import routing, selectors
from paca.repositories.broker.routes import Grant, Route
from paca.repositories.broker.running import RefsUnknown
from paca.repositories.models import Repository
from paca.sandbox.egress.gates import Gates
from paca.worker import git_server_threads, pull_request_access
from paca.worker.database import Database

LOOK_SECONDS = 2.0
NOT_YOURS = "This repository is not one of yours. Use list_repositories."
GONE = "This conversation is gone."
NO_CREDENTIAL = "The credentials of {} cannot be used: {} A person can set them again."


class RepositoryBroker:
    """The broker as one worker uses it: its process runs, and has answers, while conversations have repositories."""

    def __init__(self, gates: Gates, database: Database) -> None:
        self.client = routing.broker_client(gates.root)
        self._gates, self._database = gates, database
        self._wanted = asyncio.Event()

    async def prepare(self) -> None:
        """Start the process if it does not run. Raises ``SandboxUnavailable``."""
        self._wanted.set()
        await self.client.ensure_process()

    async def answer_repeatedly(self, draining: asyncio.Event) -> None:
        """Answer the broker for as long as this worker works."""
        while not draining.is_set():
            with tolerated("broker of repositories"):
                if self._wanted.is_set() or await self._is_needed():
                    self._wanted.clear()
                    await self.client.ensure_process()
                    await self.client.answer(self.find_route)
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._wanted.wait()
            except TimeoutError:
                continue

    async def _is_needed(self) -> bool:
        if not await asyncio.to_thread(self._gates.list_open):
            return False
        return await self._database.call(Repository.objects.exists)

    async def find_route(self, conversation_id: UUID, repository_id: UUID) -> Route | str:
        """The way to a repository for a conversation, or why it has none."""
        with tolerated("repository of a conversation", conversation=str(conversation_id)):
            found = await self._database.call(find_repository, conversation_id, repository_id)
            if isinstance(found, str):
                return found
            try:
                # Its server may be asked for a token, so neither the loop nor a thread of the database waits.
                return await git_server_threads.call(found.project_id, routing.route_of, found)
            except PacaError as error:
                return NO_CREDENTIAL.format(found.name, error.detail)
        return "Paca cannot look this repository up now. Run the command again in a moment."


def find_repository(conversation_id: UUID, repository_id: UUID) -> Repository | str:
    """A repository that the sandbox of a conversation may reach, or why it may not, in words for its agent."""
    conversations = Conversation.objects.filter(pk=conversation_id, deleted_at__isnull=True)
    conversation = conversations.select_related("agent").first()
    if conversation is None:
        return GONE
    # guard: repository-of-the-agents-own
    repository = selectors.for_agent(conversation.agent).filter(pk=repository_id).first()
    return NOT_YOURS if repository is None else repository


class RunRepositoryAccess:
    """Implements ``engine.tools.repositories.RepositoryAccess`` for one claimed conversation."""

    def __init__(
        self, conversation: Conversation, broker: RepositoryBroker | None, database: Database
    ) -> None:
        self._optional_broker, self._database = broker, database
        # A helper uses the sandbox of the conversation that started it.
        self._sandbox_id = conversation.parent_id or conversation.pk
        self._agent_id, self._project_id = conversation.agent_id, conversation.project_id
        self._conversation_id = conversation.pk

    @property
    def _broker(self) -> RepositoryBroker:
        assert self._optional_broker is not None, "this worker has no broker of repositories"
        return self._optional_broker

    async def open_pull_request(self, wanted: WantedPullRequest) -> OpenedPullRequest:
        """Raises what ``pull_request_access.open_pull_request`` raises."""
        return await pull_request_access.open_pull_request(
            wanted,
            agent_id=self._agent_id,
            conversation_id=self._conversation_id,
            database=self._database,
        )

    async def list_linked(self) -> list[LinkedRepository]:
        """Raises database errors."""
        found = await self._database.call(routing.of_agent, self._agent_id, self._project_id)
        return [routing.linked(each) for each in found]

    async def find(self, name: str) -> LinkedRepository:
        """Raises ``RepositoryRefused`` and database errors."""
        found = await self.list_linked()
        for each in found:
            if each.name == name:
                await self._prepare()
                return each
        names = ", ".join(each.name for each in found) or "none"
        raise RepositoryRefused(f"No repository {name} is linked. These are: {names}.")

    async def _prepare(self) -> None:
        try:
            await self._broker.prepare()
        except SandboxUnavailable as error:
            raise RepositoryRefused(error.detail) from error

    async def remote_state(self, repository: LinkedRepository, branch: str) -> RemoteState:
        """Raises ``RepositoryRefused``."""
        route = await self._broker.find_route(self._sandbox_id, UUID(repository.id))
        if isinstance(route, str):
            raise RepositoryRefused(route)
        try:
            found = await self._broker.client.ask_branch(route, branch)
        except RefsUnknown as error:
            raise RepositoryRefused(f"{repository.name} cannot be reached: {error}") from error
        return RemoteState(found.commit, found.default_branch, found.other_name_of)

    async def may_have_pushed(self, repository: LinkedRepository, branch: str, commit: str) -> bool:
        """Raises database errors."""
        what = (self._sandbox_id, UUID(repository.id), branch, commit)
        return await self._database.call(push_attempts.was_made, *what)

    @asynccontextmanager
    async def allow_push(
        self, repository: LinkedRepository, branch: str, *, old: str, new: str
    ) -> AsyncIterator[None]:
        """Raises ``RepositoryRefused``, and database errors."""
        what = (self._sandbox_id, UUID(repository.id), branch, new)
        # guard: push-is-recorded-before-it-is-allowed
        if not await self._database.call(push_attempts.record, *what):
            raise RepositoryRefused(f"{repository.name} is no longer linked to this project.")
        grant = Grant(self._sandbox_id, UUID(repository.id), f"refs/heads/{branch}", old, new)
        async with AsyncExitStack() as granted:
            try:
                await granted.enter_async_context(self._broker.client.grant(grant))
            except OSError as error:  # what the push itself raises is no fault of the broker
                raise RepositoryRefused(
                    "The broker of repositories does not answer. Try again."
                ) from error
            yield
