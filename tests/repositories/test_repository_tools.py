"""The tools for repositories: who has them, what they refuse, and which repository and credential a conversation gets."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from paca.agents.models import Agent
from paca.agents.toolbox import make_toolbox
from paca.conversations import services
from paca.conversations.models import Conversation
from paca.engine.approvals.policy import finding_of
from paca.engine.tools import repositories, repository_commands
from paca.engine.tools.base import ParsedCall, ToolContext
from paca.engine.tools.repositories import (
    CloneRepository,
    LinkedRepository,
    ListRepositories,
    PushBranch,
    RemoteState,
    RepositoryRefused,
)
from paca.engine.workspace import Command, CommandOutcome
from paca.repositories import routing
from paca.repositories.broker.routes import Grant
from paca.repositories.models import AgentRepositories
from paca.worker.repository_access import NOT_YOURS, RunRepositoryAccess, find_repository
from tests.support.repositories import TOKEN, make_connection, make_repository
from tests.support.world import make_world

A, B = "a" * 40, "b" * 40
SHOP = LinkedRepository("id", "shop", "https://g.example/shop.git", "http://inside/id/", "main")


class Access:
    """A server with one repository. ``commits``: what its branch is at, one for each question."""

    def __init__(
        self, *commits: str, allow: bool = False, default: str = "main", other_name_of: str = ""
    ) -> None:
        self.commits, self.default, self.other_name_of = list(commits), default, other_name_of
        self.allowed: list[tuple[str, str, str]] = []
        self.shop = LinkedRepository(
            **{**{f: getattr(SHOP, f) for f in SHOP.__slots__}, "allow_default_branch": allow}
        )

    async def list_linked(self) -> list[LinkedRepository]:
        return [self.shop]

    async def find(self, name: str) -> LinkedRepository:
        if name != "shop":
            raise RepositoryRefused("No such repository.")
        return self.shop

    async def remote_state(self, repository: LinkedRepository, branch: str) -> RemoteState:
        return RemoteState(self.commits.pop(0), self.default, self.other_name_of)

    @asynccontextmanager
    async def allow_push(
        self, repository: LinkedRepository, branch: str, *, old: str, new: str
    ) -> AsyncIterator[None]:
        self.allowed.append((branch, old, new))
        yield


class Workspace:
    """Answers each command with the next outcome."""

    boot_id = "boot"

    def __init__(self, *codes: int, output: str = "") -> None:
        self.codes, self.output, self.commands = list(codes), output, []

    async def run(self, command: Command, on_output: Any = None) -> CommandOutcome:
        self.commands.append(command)
        return CommandOutcome(self.codes.pop(0), self.output, 0.1)


async def act(tool: Any, workspace: Workspace, **arguments: Any) -> Any:
    async def opened() -> Any:
        return workspace

    context = ToolContext("call", opened)
    return await tool.act(tool.Arguments(**arguments), context)


PUSH = {"repository": "shop", "branch": "totals", "commit": A}


@pytest.mark.anyio
async def test_commit_is_pushed_and_the_server_confirms_it():
    access, workspace = Access(B, A), Workspace(0, 0)
    output = await act(PushBranch(access), workspace, **PUSH)
    assert not output.failed
    assert access.allowed == [("totals", B, A)]
    assert output.events[0].commit == A
    assert workspace.commands[1].argv[-1] == f"{A}:refs/heads/totals"


@pytest.mark.anyio
async def test_commit_that_is_there_is_not_pushed_again():
    workspace = Workspace()
    output = await act(PushBranch(Access(A)), workspace, **PUSH)
    assert not output.failed
    assert "there already" in output.output
    assert output.events
    assert workspace.commands == []


@pytest.mark.anyio
async def test_what_the_sandbox_says_of_a_push_counts_for_nothing():
    output = await act(
        PushBranch(Access("", "")), Workspace(0, 0, output="Everything fine"), **PUSH
    )
    assert output.failed
    assert not output.events


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("default", "branch"), [("main", "main"), ("trunk", "trunk"), ("", "main")]
)
async def test_default_branch_is_never_pushed_to(default: str, branch: str):
    access = Access("", default=default)
    output = await act(PushBranch(access), Workspace(0, 0), **{**PUSH, "branch": branch})
    assert output.failed
    assert "is the default branch" in output.output
    assert access.allowed == []
    there = await act(
        PushBranch(Access(A, default=default)), Workspace(), **{**PUSH, "branch": branch}
    )
    assert there.failed, "who finds that it is there has not pushed it"
    assert not there.events


@pytest.mark.anyio
async def test_default_branch_is_pushed_to_where_that_is_allowed():
    output = await act(
        PushBranch(Access(B, A, allow=True)), Workspace(0, 0), **{**PUSH, "branch": "main"}
    )
    assert not output.failed


@pytest.mark.anyio
async def test_branch_that_is_another_name_of_one_is_not_pushed_to():
    access = Access(A, other_name_of="main")
    output = await act(PushBranch(access), Workspace(), **PUSH)
    assert output.failed
    assert "totals of shop is only another name of main" in output.output
    assert access.allowed == []


class Client:
    """A broker that does not answer if it ``is_gone``."""

    def __init__(self, *, is_gone: bool) -> None:
        self.is_gone = is_gone

    @asynccontextmanager
    async def grant(self, grant: Grant) -> AsyncIterator[None]:
        if self.is_gone:
            raise ConnectionResetError
        yield


@pytest.mark.anyio
@pytest.mark.parametrize(("is_gone", "error"), [(True, RepositoryRefused), (False, OSError)])
async def test_error_of_the_push_itself_is_not_said_to_be_one_of_the_broker(
    is_gone: bool, error: type[Exception]
):
    conversation = Conversation(pk=uuid.uuid4(), agent_id=uuid.uuid4(), project_id=uuid.uuid4())
    broker = SimpleNamespace(client=Client(is_gone=is_gone))
    access = RunRepositoryAccess(conversation, broker, None)  # type: ignore[arg-type]
    shop = replace(SHOP, id=str(uuid.uuid4()))
    with pytest.raises(error):
        async with access.allow_push(shop, "totals", old=B, new=A):
            raise OSError("the disk of the sandbox is full")


@pytest.mark.anyio
@pytest.mark.parametrize("code", repository_commands.CHECKS)
async def test_commit_that_does_not_follow_the_branch_is_not_pushed(code: int):
    access = Access(B)
    output = await act(PushBranch(access), Workspace(code), **PUSH)
    assert output.failed
    assert (
        "git rev-parse" in output.output or "git fetch" in output.output or "clone" in output.output
    )
    assert access.allowed == []


NO_BRANCHES = [
    *("", "-x", "a..b", "a b", "a\nb", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "/a", "a/"),
    *("a//b", ".a", "a/.b", "a.", "a.lock", "a.lock/b", "@", "a@{1}", "refs/heads/main", "HEAD"),
    *("a" * 40, "a" * 201, "ä", "a\x7f", "$(id)", "a;b", "+a"),
]


@pytest.mark.parametrize("name", NO_BRANCHES)
def test_names_that_are_no_branch_are_refused(name: str):
    with pytest.raises(ValidationError):
        PushBranch.Arguments(repository="shop", branch=name, commit=A)
    if name:
        with pytest.raises(ValidationError):
            CloneRepository.Arguments(name="shop", branch=name)


@pytest.mark.parametrize("name", ["main", "fix/totals", "a_b-c.d", "feature#12", "v1.0+x", "a@b"])
def test_names_of_branches_are_taken(name: str):
    assert PushBranch.Arguments(repository="shop", branch=name, commit=A).branch == name


@pytest.mark.parametrize("commit", ["", "abc1234", "HEAD", "main", "A" * 40, "a" * 41, "a" * 39])
def test_push_takes_whole_hashes_only(commit: str):
    with pytest.raises(ValidationError):
        PushBranch.Arguments(repository="shop", branch="x", commit=commit)


@pytest.mark.parametrize("name", ["", "..", "a/b", "-a", "/etc", ".git", "a b"])
def test_clone_takes_names_only(name: str):
    with pytest.raises(ValidationError):
        CloneRepository.Arguments(name=name)


def test_push_asks_a_person_with_every_policy():
    tool = PushBranch()
    call = ParsedCall(tool, tool.Arguments(**PUSH))
    assert all(finding_of(call, policy) is not None for policy in ("auto", "unsafe", "all"))
    clone = CloneRepository()
    assert finding_of(ParsedCall(clone, clone.Arguments(name="shop")), "unsafe") is None


def names_of(**settings: Any) -> set[str]:
    return {spec.name for spec in make_toolbox(**settings).specs()} & repositories.NAMES


def test_tools_are_offered_only_where_a_repository_is_linked():
    assert names_of() == set()
    assert names_of(linked=Access()) == repositories.NAMES
    assert names_of(linked=Access(), chosen=["bash"]) == repositories.NAMES
    assert names_of(linked=Access(), window=4096) == repositories.NAMES
    assert names_of(linked=Access(), read_only=True) == {ListRepositories.name}


@pytest.mark.django_db
def test_conversation_reaches_the_repositories_of_its_agent_only():
    one, other = make_world(), make_world("Other")
    mine, theirs = make_repository(one.project), make_repository(other.project)
    sent = services.start_chat(one.agent, text="Hi", by=one.owner)
    assert find_repository(sent.conversation_id, mine.pk) == mine
    assert find_repository(sent.conversation_id, theirs.pk) == NOT_YOURS
    assert isinstance(find_repository(uuid.uuid4(), mine.pk), str)
    AgentRepositories.objects.create(agent=one.agent, access="none")
    assert find_repository(sent.conversation_id, mine.pk) == NOT_YOURS
    assert routing.of_agent(one.agent.pk, one.project.pk) == []


@pytest.mark.django_db
def test_credential_is_for_its_server_only():
    world = make_world()
    connection = make_connection(world.project)
    repository = make_repository(world.project, connection=connection)
    assert routing.route_of(repository).header
    repository.url = "https://evil.example/team/shop.git"
    assert routing.route_of(repository).header == ""
    assert TOKEN not in repr(routing.route_of(repository))


@pytest.mark.django_db
def test_mirror_is_shared_by_address_and_connection():
    world = make_world()
    connection, other = (make_connection(world.project, name=name) for name in ("a", "b"))
    first = make_repository(world.project, "one", connection=connection, url=SHOP.url)
    same = make_repository(world.project, "two", connection=connection, url=SHOP.url)
    different = make_repository(world.project, "three", connection=other, url=SHOP.url)
    keys = [routing.route_of(each).mirror for each in (first, same, different)]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize(
    "url", ["https://g.example/a/shop", "https://g.example/a/shop.git", "https://g.example/a/shop/"]
)
@pytest.mark.django_db
def test_address_of_a_clone_ends_with_git(url: str):
    world = make_world()
    repository = make_repository(world.project, url=url)
    assert routing.clone_url(repository) == "https://g.example/a/shop.git"
    assert routing.inside_url(repository) == f"http://repositories.paca/{repository.pk}/"
    assert Agent.objects.filter(pk=world.agent.pk).exists()
