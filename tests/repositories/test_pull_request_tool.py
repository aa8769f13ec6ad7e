"""The tool with which an agent opens a pull request, against git servers over real HTTP."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from paca import events
from paca.agents.services import variables
from paca.conversations import store
from paca.conversations.models import Conversation, ConversationBranch
from paca.conversations.services import start_chat
from paca.engine.tools.base import Effect, ToolContext, ToolOutput
from paca.engine.tools.pull_requests import CreatePullRequest
from paca.projects.models import Member
from paca.projects.services import members
from paca.repositories.models import AgentRepositories
from paca.worker import git_server_threads
from paca.worker.repository_access import RunRepositoryAccess
from tests.projects.tools.conftest import run_without_loop
from tests.support.git_host_server import TOKEN, GitHostServer
from tests.support.repositories import make_connection, make_repository
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


class Database:
    """The calling thread in place of the worker's database threads."""

    async def call(self, function: Any, *arguments: Any) -> Any:
        return function(*arguments)


class AtWork:
    """An agent in a conversation that has pushed the branch fix-totals of the repository shop."""

    def __init__(self, git: GitHostServer, world: World) -> None:
        self.git = git
        self.connection = make_connection(world.project, kind=git.kind, base_url=git.base_url)
        self.repository = make_repository(world.project, connection=self.connection)
        chat = start_chat(world.agent, text="Fix it", by=world.owner)
        self.conversation = Conversation.objects.get(pk=chat.conversation_id)
        told = {"repository_id": str(self.repository.pk), "repository": "shop"}
        pushed = events.RepositoryPushed(**told, branch="fix-totals", commit="4f1c2d")
        store.append(self.conversation.pk, pushed)
        self.world = world

    def ask(self, **arguments: str) -> ToolOutput:
        given = {"repository": "shop", "branch": "fix-totals", "title": "Fix totals", **arguments}
        database: Any = Database()
        tool = CreatePullRequest(RunRepositoryAccess(self.conversation, None, database))
        context = ToolContext(uuid.uuid4().hex, None)  # type: ignore[arg-type]
        output: ToolOutput = run_without_loop(tool.act(tool.Arguments(**given), context))
        return output


@pytest.fixture(params=["gitea", "github"])
def agent(request: pytest.FixtureRequest) -> Iterator[AtWork]:
    with GitHostServer(request.param) as git:
        yield AtWork(git, make_world())


@pytest.fixture
def on_gitea() -> Iterator[AtWork]:
    with GitHostServer("gitea") as git:
        yield AtWork(git, make_world())


@pytest.fixture(autouse=True)
def in_this_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread would not see the test's transaction."""

    async def call(project_id: uuid.UUID, function: Any, *arguments: Any) -> Any:
        return function(*arguments)

    monkeypatch.setattr(git_server_threads, "call", call)


def test_call_that_is_repeated_after_a_crash_opens_one_pull_request(agent: AtWork) -> None:
    assert CreatePullRequest.effect is Effect.IDEMPOTENT
    # The worker dies after the server has opened it: nothing of the first call is stored.
    first, again = (agent.ask(body="By a cent.") for _ in range(2))
    assert first == again
    assert agent.git.opened == 1
    assert "Opened by Rosa, an agent in Paca." in agent.git.pulls[0]["body"]
    (event,) = again.events
    assert isinstance(event, events.PullRequestOpened)
    assert (event.number, event.base, event.branch) == (1, "main", "fix-totals")
    assert TOKEN not in again.output + str(event.payload())
    for _ in range(2):
        store.append(agent.conversation.pk, event)
    agent.conversation.refresh_from_db()
    assert (agent.conversation.branch, agent.conversation.pr_url) == ("fix-totals", event.url)
    row = ConversationBranch.objects.get()
    assert (row.pr_number, row.state, row.pushed, row.base_branch) == (1, "open", "4f1c2d", "main")


CANARY = "canary-7f3a9c51e8d24b06"


def test_secret_in_the_words_of_a_pull_request_is_masked_and_that_is_told(
    on_gitea: AtWork,
) -> None:
    # It was stored after the turn has begun, so that nothing has masked what the model wrote.
    variables.store(on_gitea.world.agent, name="T", value=CANARY, by=on_gitea.world.owner)
    output = on_gitea.ask(title=f"Fix {CANARY}", body=f"Run T={CANARY} or {CANARY.encode().hex()}.")
    assert not output.failed
    assert "replaced by ***" in output.output
    [pull] = on_gitea.git.pulls
    assert pull["title"] == "Fix ***"
    assert "Run T=*** or ***." in pull["body"]
    sent = "".join(asked.body for asked in on_gitea.git.asked)
    assert CANARY not in sent + output.output + str(output.events)
    assert "***" not in on_gitea.ask().output


@pytest.mark.parametrize("place", ["branch", "base"])
def test_branch_whose_name_holds_a_secret_gets_no_pull_request(
    on_gitea: AtWork, place: str
) -> None:
    variables.store(on_gitea.world.agent, name="T", value=CANARY, by=on_gitea.world.owner)
    output = on_gitea.ask(**{place: f"fix-{CANARY}"})
    assert (output.failed, output.cause) == (True, "refused")
    assert CANARY not in output.output
    assert on_gitea.git.asked == []


def test_pull_request_of_somebody_else_is_not_taken_over(on_gitea: AtWork) -> None:
    on_gitea.git.open_pull("theirs", title="Fix totals")
    output = on_gitea.ask(branch="theirs")
    assert (output.failed, output.cause) == (True, "refused")
    assert "has not pushed theirs" in output.output
    assert output.events == ()
    assert on_gitea.git.asked == []


def test_branch_that_another_conversation_has_pushed_gets_no_pull_request(on_gitea: AtWork) -> None:
    pushed = on_gitea.conversation
    other = start_chat(on_gitea.world.agent, text="Open it", by=on_gitea.world.owner)
    on_gitea.conversation = Conversation.objects.get(pk=other.conversation_id)
    assert "has not pushed fix-totals" in on_gitea.ask().output
    assert on_gitea.git.asked == []
    on_gitea.conversation = pushed
    assert not on_gitea.ask().failed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"repository": "docs"}, "You can use: shop."),
        ({"branch": "main"}, "has not pushed main"),
        ({"base": "fix-totals"}, "cannot be merged into itself"),
        ({"branch": "--force"}, "no name of a branch"),
        ({"base": "a..b"}, "no name of a branch"),
        ({"base": "nowhere"}, "Are both branches pushed"),
    ],
)
def test_wrong_arguments_are_told_and_open_nothing(
    on_gitea: AtWork, arguments: dict[str, str], words: str
) -> None:
    output = on_gitea.ask(**arguments)
    assert (output.failed, output.events) == (True, ())
    assert words in output.output
    assert on_gitea.git.pulls == []


def test_repository_that_the_agent_may_not_use_is_none_to_it(on_gitea: AtWork) -> None:
    AgentRepositories.objects.create(agent=on_gitea.world.agent, access="none")
    assert "You can use: none." in on_gitea.ask().output
    assert on_gitea.git.asked == []


def test_role_is_asked_each_time(on_gitea: AtWork) -> None:
    world = on_gitea.world
    member = Member.objects.with_names().get(agent=world.agent)
    members.change_role(member, role=world.role("Viewer"), by=world.owner)
    output = on_gitea.ask()
    assert (output.failed, output.cause) == (True, "refused")
    assert on_gitea.git.asked == []


def test_public_repository_has_no_pull_requests_and_says_why(on_gitea: AtWork) -> None:
    make_repository(on_gitea.repository.project, "public")
    assert "connection of the kind" in on_gitea.ask(repository="public").output


def test_server_that_does_not_answer_is_told_as_a_result(on_gitea: AtWork) -> None:
    on_gitea.git.__exit__()
    output = on_gitea.ask()
    assert output.failed
    assert "could not be reached" in output.output
