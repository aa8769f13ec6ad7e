"""Writers that need the same rows wait for one another in one order, so that none is refused by a deadlock.

In each test a lock is held until every writer waits, the first one first: so they meet in the same way each time.
"""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection, models, transaction

from paca import events
from paca.agents import services as agents
from paca.agents.models import Agent, AgentPlugin, McpServer
from paca.agents.services import mcp_tools
from paca.common.errors import Invalid, NotFound
from paca.conversations import push_attempts, store
from paca.conversations import services as conversations
from paca.conversations.models import (
    Conversation,
    ConversationBranch,
    PushAttempt,
)
from paca.conversations.services import agent_status, check_ins, pull_requests
from paca.engine.mcp.settings import OfferedTool, ServerOffer, ServerState
from paca.projects.services import projects
from paca.repositories.models import (
    AgentRepositories,
    Repository,
    RepositoryAccess,
    WebhookDelivery,
)
from paca.repositories.services import repositories
from paca.repositories.webhooks import PullRequestNews, Review
from tests.conversations.team import Team
from tests.support import postgres_sessions
from tests.support.flow import wait_until
from tests.support.repositories import make_repository

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
WAITS_FOR_A_LOCK = "wait_event_type = 'Lock'"
Work = Callable[[], Any]


def meet_at(row: models.Model, *writers: Work) -> list[Any]:
    """Hold the row until all writers wait, the first one first, then let them go on; gives what each has returned."""
    returned: dict[int, Any] = {}

    def write(number: int, work: Work) -> None:
        try:
            returned[number] = work()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            returned[number] = error
        finally:
            connection.close()

    threads = [
        threading.Thread(target=write, args=each, daemon=True) for each in enumerate(writers)
    ]
    with transaction.atomic():
        type(row)._default_manager.select_for_update(no_key=True).get(pk=row.pk)
        for count, thread in enumerate(threads, 1):
            thread.start()
            wait_until(
                lambda count=count: postgres_sessions.sessions(WAITS_FOR_A_LOCK) == count,
                20,
                lambda: str(returned),
            )
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "a writer hangs"
    return [returned[number] for number in range(len(writers))]


def statuses(answers: list[Any]) -> list[Any]:
    return [getattr(each, "status_code", each) for each in answers]


# --- plugins ----------------------------------------------------------------------------------------


class Plugins:
    """A project with an own plugin, which its agent has, and what people do with it over the API."""

    def __init__(self) -> None:
        self.team = Team()
        self.project, self.agent = self.team.world.project, self.team.world.agent
        self.address = f"/projects/{self.project.pk}/"
        self.mine = f"{self.address}agents/{self.agent.pk}/"
        servers = {"git": {"command": "git-mcp"}}
        made = self.team.api.post(f"{self.address}plugins/", {"name": "A", "mcp_servers": servers})
        self.plugin = f"{self.address}plugins/{made.data['id']}/"
        self.ids = [made.data["id"]]
        assert self.give().status_code == 200
        check_ins.create(
            self.agent, by=self.team.ada, name="Look", prompt="Look.", every_minutes=60
        )

    def give(self) -> Any:
        return self.team.api.ask("put", f"{self.mine}plugins/", {"plugins": self.ids})

    def change(self) -> Any:
        servers = {"git": {"command": "git-mcp-2"}, "web": {"command": "web-mcp"}}
        return self.team.api.patch(self.plugin, {"mcp_servers": servers})

    def disable(self) -> Any:
        return self.team.api.post(f"{self.plugin}disable/", {"confirm": True})

    def move(self) -> Any:
        """Another time zone, which plans the check-ins of agents anew."""
        return self.team.api.patch(self.address, {"time_zone": "Asia/Tokyo"})

    def retire(self) -> Any:
        return self.team.api.delete(self.mine)


def test_plugin_is_changed_while_an_agent_gets_its_plugins():
    here = Plugins()
    assert statuses(meet_at(here.project, here.change, here.give)) == [200, 200]
    assert set(McpServer.objects.values_list("name", flat=True)) == {"git", "web"}


def test_plugin_is_disabled_while_it_is_changed():
    here = Plugins()
    assert statuses(meet_at(here.project, here.change, here.disable)) == [200, 200]
    assert not McpServer.objects.exists()
    assert not AgentPlugin.objects.exists()


def test_time_zone_of_a_project_changes_while_an_agent_gets_its_plugins():
    here = Plugins()
    assert statuses(meet_at(here.agent, here.give, here.move)) == [200, 200]


def test_agent_is_retired_while_its_plugin_is_changed():
    here = Plugins()
    assert statuses(meet_at(here.agent, here.retire, here.change)) == [204, 200]
    assert not McpServer.objects.exists()


def test_plugin_is_taken_from_an_agent_while_a_worker_stores_the_tools_of_its_server():
    here = Plugins()
    server = McpServer.objects.get()
    store_tools = partial(
        mcp_tools.report, here.agent.pk, server.pk, state=ServerState.AVAILABLE, offer=ServerOffer()
    )
    one = OfferedTool(name="commit", description="Commits.", schema={})
    store_tools(offer=ServerOffer(tools=[one]))
    here.ids.clear()
    stored, taken = meet_at(server, store_tools, here.give)
    assert (stored, taken.status_code) == ({}, 200)
    assert not McpServer.objects.exists()


# --- agents and projects that go --------------------------------------------------------------------


def test_agent_is_retired_in_the_admin_while_it_is_made_inactive():
    team = Team()
    team.assign()
    retire = partial(agents.retire, team.world.agent, by=team.world.user)
    facts = {"status": "inactive", "mode": "immediate", "by": team.ada}
    stop = partial(agent_status.change, Agent.objects.get(), **facts)
    gone, stopped = meet_at(Conversation.objects.get(), retire, stop)
    assert gone is None
    assert isinstance(stopped, agents.AgentIsRetired)


class Cloned:
    """A linked repository, and a conversation whose step stores that it has cloned it."""

    def __init__(self) -> None:
        self.team = Team()
        self.team.assign()
        self.project = self.team.world.project
        self.repository = make_repository(self.project)
        self.conversation = Conversation.objects.get()

    def clone(self) -> Any:
        key = str(self.repository.pk)
        cloned = events.RepositoryCloned(
            repository_id=key, repository="shop", branch="main", commit="a" * 40
        )
        return store.append(self.conversation.pk, cloned)

    def push(self) -> bool:
        what = (self.conversation.pk, self.repository.pk, "fix", "b" * 40)
        return push_attempts.record(*what)

    def unlink(self) -> Any:
        address = f"/projects/{self.project.pk}/repositories/{self.repository.pk}/"
        return self.team.api.delete(address)


def test_project_is_deleted_while_a_step_stores_a_clone():
    here = Cloned()
    delete = partial(projects.delete, here.project, by=here.team.ada)
    cloned, deleted = meet_at(here.conversation, here.clone, delete)
    assert isinstance(cloned, store.AppendResult)
    assert deleted is None
    assert not Repository.objects.exists()


@pytest.mark.parametrize("first", ["clone", "unlink"])
def test_repository_is_unlinked_while_a_step_stores_a_clone(first: str):
    here = Cloned()
    writers: list[Work] = [here.clone, here.unlink]
    found = meet_at(here.repository, *(writers if first == "clone" else writers[::-1]))
    cloned, unlinked = found if first == "clone" else found[::-1]
    assert isinstance(cloned, store.AppendResult)
    assert unlinked.status_code == 204
    assert not ConversationBranch.objects.exists()


@pytest.mark.parametrize("first", ["push", "unlink"])
def test_repository_is_unlinked_while_a_push_is_recorded(first: str):
    here = Cloned()
    writers: list[Work] = [here.push, here.unlink]
    found = meet_at(here.repository, *(writers if first == "push" else writers[::-1]))
    pushed, unlinked = found if first == "push" else found[::-1]
    assert pushed is (first == "push")
    assert unlinked.status_code == 204
    assert not PushAttempt.objects.exists()


def test_repository_is_unlinked_while_an_agent_gets_it():
    here = Cloned()
    choose = partial(
        repositories.set_access,
        here.team.world.agent,
        access=RepositoryAccess.CHOSEN,
        chosen=[here.repository],
        by=here.team.ada,
    )
    unlinked, chosen = meet_at(here.repository, here.unlink, choose)
    assert unlinked.status_code == 204
    assert isinstance(chosen, Invalid)
    assert not AgentRepositories.objects.exists()


@pytest.mark.parametrize("first", ["choose", "retire"])
def test_agent_is_retired_while_its_repositories_are_chosen(first: str):
    here = Cloned()
    choose = partial(repositories.set_access, here.team.world.agent, by=here.team.ada)
    setting = choose(access=RepositoryAccess.CHOSEN, chosen=[here.repository])
    take = partial(choose, access=RepositoryAccess.NONE)
    retire = partial(agents.retire, Agent.objects.get(), by=here.team.world.user)
    writers: list[Work] = [take, retire]
    found = meet_at(setting, *(writers if first == "choose" else writers[::-1]))
    taken, gone = found if first == "choose" else found[::-1]
    assert isinstance(taken, AgentRepositories if first == "choose" else NotFound)
    assert gone is None
    assert not AgentRepositories.objects.exists()


class PullRequest(Cloned):
    """A pull request that two conversations have pushed to: the later one opened it."""

    def __init__(self) -> None:
        super().__init__()
        sent = conversations.start_chat(self.team.world.agent, text="Go on.", by=self.team.ada)
        self.later = Conversation.objects.get(pk=sent.conversation_id)
        for each in (self.later, self.conversation):
            opened = events.PullRequestOpened(**self.told, base="main", number=7, url="https://g/7")
            store.append(each.pk, opened)

    @property
    def told(self) -> dict[str, str]:
        return {"repository_id": str(self.repository.pk), "repository": "shop", "branch": "fix"}

    def store_push(self) -> Any:
        return store.append(
            self.conversation.pk, events.RepositoryPushed(**self.told, commit="b" * 40)
        )

    def merge(self) -> bool:
        news = PullRequestNews(7, "merged", "ada")
        return pull_requests.tell_end(self.repository, news, digest="c" * 64)

    def review(self) -> bool:
        review = Review(7, "ada", opener="paca", verdict="changes_requested", text="Test it.")
        return pull_requests.give_review(self.repository, review, (), digest="d" * 64)


def test_pull_request_of_two_conversations_is_merged_while_one_of_them_stores_a_push():
    here = PullRequest()
    merged, pushed = meet_at(here.repository, here.merge, here.store_push)
    assert merged is True
    assert isinstance(pushed, store.AppendResult)
    assert set(ConversationBranch.objects.values_list("state", "pushed")) == {
        ("merged", "b" * 40),
        ("merged", ""),
    }


@pytest.mark.parametrize("told", ["merge", "review"])
@pytest.mark.parametrize("first", ["webhook", "unlink"])
def test_repository_is_unlinked_while_its_server_sends_a_webhook(first: str, told: str):
    here = PullRequest()
    writers: list[Work] = [getattr(here, told), here.unlink]
    found = meet_at(here.repository, *(writers if first == "webhook" else writers[::-1]))
    counted, unlinked = found if first == "webhook" else found[::-1]
    assert counted is (first == "webhook")
    assert unlinked.status_code == 204
    assert not WebhookDelivery.objects.exists()
