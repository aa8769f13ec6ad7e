"""The tools with which an agent clones repositories of its project and pushes to them. They never see a credential."""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from pydantic import AfterValidator, Field

from paca import events
from paca.common.errors import PacaError
from paca.engine.tools import push_search
from paca.engine.tools import repository_commands as commands
from paca.engine.tools.base import (
    AnyTool,
    ArgumentsT,
    Effect,
    Tool,
    ToolArguments,
    ToolContext,
    ToolOutput,
)
from paca.engine.tools.formatting import to_one_line
from paca.engine.tools.pull_requests import PullRequestAccess
from paca.engine.tools.repository_setup import SETUP_SECONDS, AfterClone, after_clone

BRANCH = r"[A-Za-z0-9_][A-Za-z0-9_./+#=@-]{0,199}\Z"
# Git allows none of these in a name, or reads them in another way.
NO_BRANCH = r"\.\.|@\{|//|/\.|\.\Z|/\Z|\.lock(/|\Z)|\A@\Z|\Arefs/|\AHEAD\Z|\A[0-9a-f]{40}"
COMMIT = r"^([0-9a-f]{40}|[0-9a-f]{64})$"
NAME = r"^[a-z0-9][a-z0-9._-]{0,59}$"
CLONE_SECONDS, PUSH_SECONDS = 1800.0, 600.0


def _check_branch(text: str) -> str:
    # guard: branch-names-are-plain
    if not re.match(BRANCH, text) or re.search(NO_BRANCH, text):
        raise ValueError("the plain name of a branch, such as fix/totals")
    return text


def _check_branch_or_none(text: str) -> str:
    return _check_branch(text) if text else text


BranchName = Annotated[str, AfterValidator(_check_branch)]
BranchNameOrNone = Annotated[str, AfterValidator(_check_branch_or_none)]


class RepositoryRefused(PacaError):
    """The repository cannot be used like that."""

    code = "repository_refused"


@dataclass(frozen=True, slots=True)
class LinkedRepository:
    """A repository that the agent may use. ``inside``: its address in the sandbox. ``problem``: why it did not work."""

    id: str
    name: str
    url: str
    inside: str
    default_branch: str = ""
    allow_default_branch: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RemoteState:
    """What the server has now: the commit of a branch (empty if it has none), and its default branch.

    ``other_name_of``: the branch that this one is only another name of on the server; empty if it is one itself.
    """

    commit: str
    default_branch: str
    other_name_of: str = ""


class RepositoryAccess(PullRequestAccess, Protocol):
    """The way of one conversation to the repositories of its agent."""

    async def list_linked(self) -> list[LinkedRepository]:
        """The repositories that the agent may use, by name."""
        ...

    async def find(self, name: str) -> LinkedRepository:
        """The repository of this name, once it can be reached. Raises ``RepositoryRefused``."""
        ...

    async def remote_state(self, repository: LinkedRepository, branch: str) -> RemoteState:
        """What the server of a repository has. Raises ``RepositoryRefused`` if it cannot be asked."""
        ...

    async def may_have_pushed(self, repository: LinkedRepository, branch: str, commit: str) -> bool:
        """Whether a push of this commit to this branch was allowed before, in this conversation."""
        ...

    def allow_push(
        self, repository: LinkedRepository, branch: str, *, old: str, new: str
    ) -> AbstractAsyncContextManager[None]:
        """Allow one push of the commit ``new`` to a branch that is at ``old`` now, while the context lasts.

        It is stored before, so that ``may_have_pushed`` knows it also after a crash.
        """
        ...


class RepositoryTool(Tool[ArgumentsT]):
    """Base of the tools for linked repositories."""

    def __init__(self, access: RepositoryAccess | None = None) -> None:
        """A tool without ``access`` can be described and not used."""
        self._access = access

    @property
    def connected(self) -> RepositoryAccess:
        """The access to the repositories."""
        assert self._access is not None, f"{self.name} is not connected to repositories"
        return self._access

    def subject(self, arguments: ArgumentsT) -> str:
        facts = arguments.model_dump()
        named = (facts.get("name") or facts.get("repository"), facts.get("branch"))
        return to_one_line(" ".join(str(each) for each in named if each))


class ListRepositories(RepositoryTool["ListRepositories.Arguments"]):
    """List the git repositories of the project that you can clone."""

    name = "list_repositories"
    effect = Effect.READ_ONLY
    uses_workspace = False

    class Arguments(ToolArguments):
        pass

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        found = await self.connected.list_linked()
        if not found:
            return ToolOutput(
                "No repository is linked. A person can link one in the project's settings."
            )
        return ToolOutput("\n".join(_line(each) for each in found))


def _line(repository: LinkedRepository) -> str:
    default = f", default branch {repository.default_branch}" if repository.default_branch else ""
    problem = (
        f" (last contact failed: {to_one_line(repository.problem)})" if repository.problem else ""
    )
    return f"{repository.name}: {repository.url}{default}{problem}"


class CloneRepository(RepositoryTool["CloneRepository.Arguments"]):
    """Clone a repository of the project into a folder of its name.

    git fetch and git pull work there as usual; push with push_branch.
    """

    name = "clone_repository"
    effect = Effect.IDEMPOTENT
    timeout_seconds = CLONE_SECONDS + SETUP_SECONDS
    reattachable = True

    class Arguments(ToolArguments):
        name: str = Field(pattern=NAME, description="As list_repositories gives it.")
        branch: BranchNameOrNone = ""
        depth: int = Field(default=0, ge=0, le=100_000, description="Newest commits only; 0: all.")

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        try:
            repository = await self.connected.find(arguments.name)
        except RepositoryRefused as error:
            return ToolOutput(error.detail, failed=True, cause="refused")
        wanted = commands.Clone(
            repository.name,
            repository.url,
            repository.inside,
            branch=arguments.branch,
            depth=arguments.depth,
        )
        return await clone(wanted, repository, context)


async def clone(
    wanted: commands.Clone,
    repository: LinkedRepository,
    context: ToolContext,
    *,
    at_start: bool = False,
) -> ToolOutput:
    """Clone a repository, or find that it is cloned; the events tell where it is and what it brings.

    ``at_start``: nobody has called a tool for it, so that its event is the only thing that tells of it, also of a clone
    that was there. Raises what workspaces raise.
    """
    workspace = await context.workspace()
    outcome = await workspace.run(
        commands.clone_command(wanted, context.call_id, CLONE_SECONDS), context.on_output
    )
    found = commands.read_clone(outcome)
    if found is None:
        return ToolOutput(
            commands.clone_problem(outcome, wanted),
            failed=True,
            exit_code=outcome.exit_code,
            cause=outcome.cause,
        )
    text = commands.describe_clone(wanted, found)
    if found.was_there and not at_start:
        return ToolOutput(text, exit_code=0)
    after = await _after_clone(wanted, repository, context)
    event = events.RepositoryCloned(
        repository_id=repository.id,
        repository=wanted.name,
        branch=found.branch,
        commit=found.commit,
        path=f"/workspace/{wanted.name}",
        setup=after.text if at_start else "",
    )
    text = "\n".join(part for part in (text, after.text) if part)
    return ToolOutput(text, exit_code=0, events=(*after.events, event))


async def _after_clone(
    wanted: commands.Clone, repository: LinkedRepository, context: ToolContext
) -> AfterClone:
    return await after_clone(
        await context.workspace(),
        wanted.name,
        call_id=context.call_id,
        setup=context.repository_setup,
        of_default_branch=wanted.branch in ("", repository.default_branch),
        on_output=context.on_output,
    )


class PushBranch(RepositoryTool["PushBranch.Arguments"]):
    """Push one commit of a cloned repository to a branch on its server.

    Exactly this commit is pushed. Never the default branch; no force. Nothing else can push.
    """

    name = "push_branch"
    effect = Effect.IDEMPOTENT
    timeout_seconds = PUSH_SECONDS + push_search.SEARCH_SECONDS
    sends_out = True

    class Arguments(ToolArguments):
        repository: str = Field(pattern=NAME)
        branch: BranchName = Field(description="Of the server.")
        commit: str = Field(pattern=COMMIT, description="Full hash, from git rev-parse HEAD.")

    def subject(self, arguments: Arguments) -> str:
        where = f"{arguments.repository} {arguments.branch}"
        return to_one_line(f"{where} at {arguments.commit[:12]}")

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        try:
            repository = await self.connected.find(arguments.repository)
            return await self._push(repository, arguments, context)
        except RepositoryRefused as error:
            return ToolOutput(error.detail, failed=True, cause="refused")

    async def _push(
        self, repository: LinkedRepository, arguments: Arguments, context: ToolContext
    ) -> ToolOutput:
        # guard: branch-names-hold-no-secret
        if context.mask.text(arguments.branch) != arguments.branch:
            raise RepositoryRefused("The name of the branch holds a secret. Choose another name.")
        state = await self.connected.remote_state(repository, arguments.branch)
        _refuse_other_name(repository, arguments.branch, state)
        _refuse_default(repository, arguments.branch, state)
        if state.commit == arguments.commit:
            return await self._found_there(repository, arguments)
        workspace = await context.workspace()
        wanted = commands.Push(
            repository.name,
            repository.inside,
            branch=arguments.branch,
            commit=arguments.commit,
            old=state.commit,
        )
        checked = await workspace.run(commands.check_command(wanted, context.call_id))
        if problem := commands.check_problem(checked, wanted):
            return ToolOutput(problem, failed=True, cause="refused")
        found = await push_search.search(workspace, wanted, context.call_id, context.mask)
        if problem := found.problem:
            return ToolOutput(problem, failed=True, cause="refused")
        old = state.commit or "0" * len(arguments.commit)
        async with self.connected.allow_push(
            repository, arguments.branch, old=old, new=arguments.commit
        ):
            outcome = await workspace.run(
                commands.push_command(wanted, context.call_id, PUSH_SECONDS), context.on_output
            )
        after = await self.connected.remote_state(repository, arguments.branch)
        # What the sandbox says counts for nothing: the server tells whether it has the commit.
        if after.commit == arguments.commit:
            return _pushed(repository, arguments, found.remark)
        return ToolOutput(
            commands.push_problem(outcome),
            failed=True,
            exit_code=outcome.exit_code,
            cause=outcome.cause,
        )

    async def _found_there(
        self, repository: LinkedRepository, arguments: PushBranch.Arguments
    ) -> ToolOutput:
        """The server has the commit: by an earlier run of this call whose end was lost, or by somebody else."""
        # guard: push-of-others-is-no-own
        if await self.connected.may_have_pushed(repository, arguments.branch, arguments.commit):
            return _pushed(repository, arguments, "It was there already.")
        return ToolOutput(
            f"{arguments.branch} of {repository.name} is at {arguments.commit[:12]} already, and this conversation did"
            " not push it. Nothing was pushed. Push your own work to a branch of its own.",
            exit_code=0,
        )


def _refuse_other_name(repository: LinkedRepository, branch: str, state: RemoteState) -> None:
    """Raises ``RepositoryRefused`` if a push to this branch would change another one."""
    # guard: push-never-by-another-name
    if state.other_name_of:
        raise RepositoryRefused(
            f"{branch} of {repository.name} is only another name of {state.other_name_of} on the server. Push to a"
            " branch of its own and open a pull request."
        )


def _refuse_default(repository: LinkedRepository, branch: str, state: RemoteState) -> None:
    """Raises ``RepositoryRefused`` for a push to the default branch, unless the repository allows it."""
    defaults = {repository.default_branch, state.default_branch} - {""} or {"main", "master"}
    # guard: push-never-to-the-default-branch
    if branch in defaults and not repository.allow_default_branch:
        raise RepositoryRefused(
            f"{branch} is the default branch of {repository.name}, to which agents do not push. Push another branch"
            " and open a pull request."
        )


def _pushed(
    repository: LinkedRepository, arguments: PushBranch.Arguments, remark: str
) -> ToolOutput:
    event = events.RepositoryPushed(
        repository_id=repository.id,
        repository=repository.name,
        branch=arguments.branch,
        commit=arguments.commit,
    )
    said = f"{arguments.branch} of {repository.name} is at {arguments.commit[:12]} now. {remark}"
    return ToolOutput(said.strip(), exit_code=0, events=(event,))


TOOLS: tuple[type[RepositoryTool[Any]], ...] = (ListRepositories, CloneRepository, PushBranch)
NAMES = frozenset(tool.name for tool in TOOLS)


def repository_tools(access: RepositoryAccess | None = None) -> tuple[AnyTool, ...]:
    """New instances of the tools for repositories; without ``access`` they can be described only."""
    return tuple(tool(access) for tool in TOOLS)
