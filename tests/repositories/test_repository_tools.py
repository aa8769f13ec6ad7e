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
from paca.conversations import deletion, services
from paca.conversations.models import Conversation, PushAttempt
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
from tests.projects.tools.conftest import run_without_loop
from tests.support.repositories import TOKEN, make_connection, make_repository
from tests.support.world import World, make_world

A, B = "a" * 40, "b" * 40
SHOP = LinkedRepository("id", "shop", "https://g.example/shop.git", "http://inside/id/", "main")


class Access:
    """A server with one repository. ``commits``: what its branch is at, one for each question.

    ``tried``: the commit that the conversation was about to push before.
    """

    def __init__(
        self,
        *commits: str,
        allow: bool = False,
        default: str = "main",
        other_name_of: str = "",
        tried: str = "",
    ) -> None:
        self.tried = tried
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

    async def may_have_pushed(self, repository: LinkedRepository, branch: str, commit: str) -> bool:
        return (branch, commit) == ("totals", self.tried)

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
async def test_commit_that_an_earlier_run_of_the_call_pushed_is_not_pushed_again():
    workspace = Workspace()
    output = await act(PushBranch(Access(A, tried=A)), workspace, **PUSH)
    assert not output.failed
    assert "there already" in output.output
    assert output.events
    assert workspace.commands == []


@pytest.mark.anyio
@pytest.mark.parametrize("tried", ["", B])
async def test_commit_that_somebody_else_pushed_is_no_push_of_the_conversation(tried: str):
    workspace = Workspace()
    output = await act(PushBranch(Access(A, tried=tried)), workspace, **PUSH)
    assert "this conversation did not push it" in output.output
    assert not output.events
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
    """A broker that does not answer if it ``is_gone``. ``recorded``: the pushes that were stored when it was asked."""

    def __init__(self, *, is_gone: bool = False) -> None:
        self.is_gone = is_gone
        self.recorded: list[tuple[str, str]] = []

    @asynccontextmanager
    async def grant(self, grant: Grant) -> AsyncIterator[None]:
        if self.is_gone:
            raise ConnectionResetError
        self.recorded = list(PushAttempt.objects.values_list("branch", "commit"))
        yield


class InThisThread:
    """The calling thread in place of the worker's database threads: another one would not see the test's transaction."""

    async def call(self, function: Any, *arguments: Any) -> Any:
        return function(*arguments)


class Pushing:
    """A conversation whose agent may push to the repository ``shop``."""

    def __init__(self, world: World, client: Client) -> None:
        sent = services.start_chat(world.agent, text="Hi", by=world.owner)
        self.conversation = Conversation.objects.get(pk=sent.conversation_id)
        self.repository = make_repository(world.project)
        self.shop = replace(SHOP, id=str(self.repository.pk))
        self.client = client
        self.access = self.access_of(self.conversation)

    def access_of(self, conversation: Conversation) -> RunRepositoryAccess:
        broker: Any = SimpleNamespace(client=self.client)
        database: Any = InThisThread()
        return RunRepositoryAccess(conversation, broker, database)

    async def push(self) -> None:
        async with self.access.allow_push(self.shop, "totals", old=B, new=A):
            pass

    def has_tried(
        self, branch: str = "totals", commit: str = A, access: RunRepositoryAccess | None = None
    ) -> bool:
        asked = (access or self.access).may_have_pushed(self.shop, branch, commit)
        found: bool = run_without_loop(asked)
        return found


@pytest.mark.django_db
@pytest.mark.parametrize(("is_gone", "error"), [(True, RepositoryRefused), (False, OSError)])
def test_error_of_the_push_itself_is_not_said_to_be_one_of_the_broker(
    is_gone: bool, error: type[Exception]
):
    pushing = Pushing(make_world(), Client(is_gone=is_gone))

    async def push() -> None:
        async with pushing.access.allow_push(pushing.shop, "totals", old=B, new=A):
            raise OSError("the disk of the sandbox is full")

    with pytest.raises(error):
        run_without_loop(push())


@pytest.mark.django_db
def test_push_is_stored_before_it_is_allowed_and_counts_for_its_conversation_only():
    world = make_world()
    pushing = Pushing(world, Client())
    assert not pushing.has_tried()
    run_without_loop(pushing.push())
    assert pushing.client.recorded == [("totals", A)]
    run_without_loop(pushing.push())
    assert PushAttempt.objects.count() == 1
    assert pushing.has_tried()
    assert not pushing.has_tried("other")
    assert not pushing.has_tried(commit=B)
    sent = services.start_chat(world.agent, text="Hi", by=world.owner)
    other = Conversation.objects.get(pk=sent.conversation_id)
    assert not pushing.has_tried(access=pushing.access_of(other))
    helper = Conversation(pk=uuid.uuid4(), parent=pushing.conversation, agent=world.agent)
    assert pushing.has_tried(access=pushing.access_of(helper))
    assert pushing.conversation.push_attempts.exists()
    services.stop(pushing.conversation, by=world.owner)
    deletion.delete(pushing.conversation, by=world.owner)
    assert not PushAttempt.objects.exists()


@pytest.mark.django_db
def test_push_to_a_repository_that_is_linked_no_longer_is_refused():
    pushing = Pushing(make_world(), Client())
    pushing.repository.delete()
    with pytest.raises(RepositoryRefused, match="no longer linked"):
        run_without_loop(pushing.push())
    assert not pushing.has_tried()


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
