"""The content of the pages, who may see them, and their number of queries."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from paca.accounts import services as accounts
from paca.accounts.models import User
from paca.accounts.permission_patterns import find_unknown
from paca.accounts.services import tokens as api_tokens
from paca.agents import services as agents
from paca.conversations import services as conversations
from paca.conversations.models import Conversation
from paca.engine.llm.demo import scripted_model
from paca.projects import permissions
from paca.projects.services import members, projects, tasks, workspaces
from paca.worker import claim
from tests.support.world import World, make_world

HOSTILE = """<img src=x onerror=alert(1)>"'><script>alert(1)</script>"""


def chat(harbor: World, text: str = "Find the bug") -> conversations.MessageReceipt:
    return conversations.start_chat(harbor.agent, text=text, by=harbor.owner)


def body(client: Client, path: str, **options: Any) -> str:
    answer = client.get(path, **options)
    assert answer.status_code == 200, answer.status_code
    return answer.content.decode()


def page(harbor: World, rest: str = "") -> str:
    return f"/projects/{harbor.project.id}/{rest}"


def test_home_redirects_to_the_only_project(ada: Client, harbor: World) -> None:
    assert ada.get("/").headers["Location"] == page(harbor)


def test_home_tells_people_without_a_project_what_to_do(harbor: World, db: None) -> None:
    client = Client()
    client.force_login(User.objects.create_user("nobody"))
    assert "You are not a member of a project yet" in body(client, "/")


def test_projects_are_listed_with_a_form_for_a_new_one(ada: Client, harbor: World) -> None:
    text = body(ada, "/projects/")
    assert f'href="{page(harbor)}"' in text
    assert 'data-api="POST /api/v1/projects/"' in text
    assert f'name="workspace_id" value="{harbor.project.workspace_id}"' in text


def test_person_of_no_workspace_gets_no_form_for_a_project(harbor: World, db: None) -> None:
    client = Client()
    client.force_login(User.objects.create_user("nobody"))
    assert "data-api" not in body(client, "/projects/")


def test_sidebar_switches_to_the_other_projects_of_the_person(ada: Client, harbor: World) -> None:
    mine = projects.create(harbor.project.workspace, "Lighthouse", by=harbor.user)
    make_world("Elsewhere")
    text = body(ada, page(harbor))
    assert f'role="menuitem" href="/projects/{mine.pk}/"' in text
    assert "Elsewhere" not in text


def test_notifications_of_a_project_that_the_person_has_left_are_not_counted(
    ada: Client, harbor: World
) -> None:
    other = make_world("Elsewhere")
    workspaces.add_person(other.project.workspace, user=harbor.user)
    member = members.add_person(
        other.project, user=harbor.user, role=other.role("member"), by=other.owner
    )
    tasks.create(other.project, title="Paint", assignees=[member], by=other.owner)
    assert 'aria-label="1 unread"' in body(ada, page(harbor))
    members.remove(member, by=other.owner)
    assert 'aria-label="0 unread"' in body(ada, page(harbor))


def test_people_of_a_workspace_see_its_page_and_owners_its_forms(
    ada: Client, harbor: World
) -> None:
    path = f"/workspaces/{harbor.project.workspace_id}/"
    assert f'href="{path}"' in body(ada, page(harbor))
    assert f'href="{path}"' in body(ada, "/projects/")
    own = body(ada, path)
    assert "Nobody else is here yet" in own
    assert "No invitation is open" in own
    user = User.objects.create_user("mei", name="Mei")
    workspaces.add_person(harbor.project.workspace, user=user)
    mei = Client()
    mei.force_login(user)
    assert "data-api" not in body(mei, path)
    assert 'aria-label="Role of mei"' in body(ada, path)


def test_page_of_tokens_shows_the_own_ones_and_how_to_connect_an_editor(
    ada: Client, harbor: World
) -> None:
    assert 'href="/tokens/"' in body(ada, page(harbor))
    assert "You have no tokens yet" in body(ada, "/tokens/")
    other = User.objects.create_user("mei")
    api_tokens.create(other, name="Of Mei", by=other)
    own, secret = api_tokens.create(
        harbor.user, name="<b>editor</b>", scopes=["tasks:read"], by=harbor.user
    )
    text = body(ada, "/tokens/")
    assert "Of Mei" not in text
    assert "&lt;b&gt;editor&lt;/b&gt;" in text
    assert f"DELETE /api/v1/tokens/{own.pk}/" in text
    assert secret not in text
    settings = unescape(
        text.partition('id="settings"')[2].partition(">")[2].partition("</textarea")[0]
    )
    server = json.loads(settings)["mcpServers"]["paca"]
    assert server["url"] == "http://testserver/mcp/"
    assert server["headers"] == {"Authorization": "Bearer paca_YOUR_TOKEN"}
    scopes = text.partition('id="scopes"')[2].partition(">")[2].partition("</textarea")[0].split()
    assert find_unknown(scopes) == []


def test_overview_has_a_composer_for_the_agent(ada: Client, harbor: World) -> None:
    text = unescape(body(ada, page(harbor)))
    assert "Rosa is ready" in text
    assert (
        f'data-start="/api/v1/projects/{harbor.project.id}/agents/{harbor.agent.id}/chat-sessions/"'
        in text
    )
    assert [
        prompt for _title, prompt in scripted_model.PROMPTS if f'data-prompt="{prompt}"' in text
    ] == [prompt for _title, prompt in scripted_model.PROMPTS]


def test_overview_chooses_one_agent_and_leaves_out_inactive_ones(
    ada: Client, harbor: World
) -> None:
    role = harbor.role(permissions.AGENT)
    for name in ("Milo", "Theo"):
        agents.create(
            harbor.project,
            name=name,
            handle=name.lower(),
            model="demo/guide",
            role=role,
            by=harbor.owner,
        )
    harbor.project.agents.filter(name="Theo").update(status="inactive")
    milo = harbor.project.agents.get(name="Milo")
    text = body(ada, page(harbor), data={"agent": str(milo.id)})
    assert f"agents/{milo.id}/chat-sessions/" in text
    assert re.findall(r"<option[^>]*>(\w+)</option>", text) == ["Milo", "Rosa"]
    assert "takes no messages" in body(
        ada, page(harbor, f"agents/{harbor.project.agents.get(name='Theo').id}/")
    )


def test_getting_started_disappears_when_it_is_done_or_hidden(
    ada: Client, harbor: World, django_capture_on_commit_callbacks: Any
) -> None:
    assert "Getting started" in body(ada, page(harbor))
    ada.cookies["checklist"] = "hidden"
    assert "Getting started" not in body(ada, page(harbor))
    del ada.cookies["checklist"]
    chat(harbor)
    harbor.agent.model = "anthropic/claude-sonnet-4-5"
    harbor.agent.save()
    assert f'<a class="link" href="{page(harbor, "board/")}">Board</a>' in body(ada, page(harbor))
    task = tasks.create(harbor.project, title="Paint the quay", by=harbor.owner)
    rosa = harbor.project.members.with_names().get(agent=harbor.agent)
    with django_capture_on_commit_callbacks(execute=True):
        tasks.assign(task, to=rosa, by=harbor.owner)
    assert "Getting started" not in body(ada, page(harbor))


def test_overview_without_agents_says_what_to_do(ada: Client, harbor: World) -> None:
    agents.retire(harbor.agent, by=harbor.owner)
    assert "No agents yet" in body(ada, page(harbor))
    assert "No agents yet" in body(ada, page(harbor, "agents/"))


def test_overview_has_no_composer_for_viewers(harbor: World) -> None:
    viewer = User.objects.create_user("vic")
    harbor.project.workspace.members.create(user=viewer)
    role = harbor.role(permissions.VIEWER)
    members.add_person(harbor.project, user=viewer, role=role, by=harbor.owner)
    client = Client()
    client.force_login(viewer)
    text = body(client, page(harbor))
    assert "You can read only" in text
    assert "<textarea" not in text
    sent = chat(harbor)
    shown = body(client, page(harbor, f"conversations/{sent.conversation_id}/"))
    assert handed_over(shown)["mayWrite"] is False


def test_agents_page_shows_current_activities(ada: Client, harbor: World) -> None:
    assert "No conversation running" in body(ada, page(harbor, "agents/"))
    chat(harbor, "Find the bug")
    text = body(ada, page(harbor, "agents/"))
    assert "Find the bug" in text
    assert "Queued" in text


def test_conversations_are_found_by_title_and_by_message(ada: Client, harbor: World) -> None:
    chat(harbor, "Find the bug\nin the tax rounding")
    chat(harbor, "Write a poem")
    found = body(ada, page(harbor, "conversations/"), data={"q": "rounding"})
    assert "Find the bug" in found
    assert "Write a poem" not in found.split('class="searchbox')[1]
    assert "Nothing found for" in body(ada, page(harbor, "conversations/"), data={"q": "nowhere"})


def test_conversations_page_may_be_empty(ada: Client, harbor: World) -> None:
    assert "No conversations here" in body(ada, page(harbor, "conversations/"))


@pytest.mark.parametrize("number", ["0", "-1", "x", "99999999", "9" * 5000, "²", "\n", ""])
def test_conversations_page_accepts_any_page_number(
    ada: Client, harbor: World, number: str
) -> None:
    assert ada.get(page(harbor, "conversations/"), {"page": number}).status_code == 200


def test_conversations_page_splits_long_lists(ada: Client, harbor: World) -> None:
    for number in range(32):
        chat(harbor, f"Task {number:02}")
    first = body(ada, page(harbor, "conversations/")).split('class="searchbox')[1]
    second = body(ada, page(harbor, "conversations/?page=2")).split('class="searchbox')[1]
    on_first = set(re.findall(r"Task \d\d", first))
    on_second = set(re.findall(r"Task \d\d", second))
    assert len(on_first) == 30
    assert len(on_second) == 2
    assert not on_first & on_second


def handed_over(text: str) -> dict[str, Any]:
    """The data that the page gives to <paca-conversation>."""
    found = re.search(r'<paca-conversation class="main" page="([^"]*)"', text)
    assert found
    given: dict[str, Any] = json.loads(unescape(found[1]))
    return given


def test_conversation_page_has_title_and_state_without_scripts(ada: Client, harbor: World) -> None:
    sent = chat(harbor)
    text = body(ada, page(harbor, f"conversations/{sent.conversation_id}/"))
    assert "<h1>Find the bug</h1>" in text
    assert "Queued" in text
    given = handed_over(text)
    assert given["conversation"]["id"] == str(sent.conversation_id)
    assert given["agent"]["name"] == "Rosa"
    assert ada.get(given["urls"]["api"]).status_code == 200


def test_pages_escape_texts_of_people_and_models(ada: Client, harbor: World) -> None:
    sent = chat(harbor, HOSTILE)
    harbor.agent.name, harbor.agent.description = HOSTILE[:100], HOSTILE
    harbor.agent.save()
    harbor.project.name = HOSTILE[:100]
    harbor.project.save()
    for rest in ("", "agents/", f"agents/{harbor.agent.id}/", "conversations/",
                 f"conversations/{sent.conversation_id}/"):  # fmt: skip
        text = body(ada, page(harbor, rest))
        assert "<img src=x" not in text
        assert "<script>alert" not in text
    search = body(ada, page(harbor, "conversations/"), data={"q": HOSTILE})
    assert "<img src=x" not in search


@pytest.mark.parametrize("rest", ["", "agents/", "conversations/", "conversation"])
def test_pages_need_no_more_queries_for_more_rows(ada: Client, harbor: World, rest: str) -> None:
    sent = chat(harbor)
    path = f"conversations/{sent.conversation_id}/" if rest == "conversation" else rest

    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            body(ada, page(harbor, path))
        return len(captured)

    few = queries()
    for number in range(6):
        role = harbor.role(permissions.AGENT)
        more = agents.create(harbor.project, name=f"A{number}", handle=f"a{number}",
                             model="demo/guide", role=role, by=harbor.owner)  # fmt: skip
        conversations.start_chat(more, text="Hello", by=harbor.owner)
    assert queries() == few
    assert few <= 13


# --- signing in -------------------------------------------------------------------------------------


def test_sign_in_page_uses_our_template(client: Client, db: None) -> None:
    text = body(client, "/accounts/login/")
    assert "sign_in_link" in text
    assert 'autocomplete="current-password"' in text


def test_sign_in_page_reports_a_wrong_password(client: Client, harbor: World) -> None:
    answer = client.post("/accounts/login/", {"login": harbor.user.username, "password": "wrong"})
    assert "are not correct" in answer.content.decode()


def test_one_time_link_is_used_up_by_its_button_only(client: Client, harbor: World) -> None:
    secret = accounts.create_one_time_link(harbor.user)
    path = f"/link/{secret}/"
    assert f"Sign in as {harbor.user.username}" in body(client, path)
    assert "_auth_user_id" not in client.session
    assert client.post(path).headers["Location"] == "/"
    assert client.session["_auth_user_id"] == str(harbor.user.pk)
    again = Client().get(path)
    assert again.status_code == 404
    assert "has been used or has expired" in again.content.decode()


def test_one_time_link_cannot_be_used_from_another_site(harbor: World) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post(f"/link/{accounts.create_one_time_link(harbor.user)}/")
    assert answer.status_code == 403
    assert "The form was not accepted" in answer.content.decode()


# --- looks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cookie", "shown"),
    [("dark", ' data-theme="dark"'), ("light", ' data-theme="light"'), ("", ""), ('"><b>', "")],
)
def test_theme_of_the_cookie_is_in_the_html(
    client: Client, db: None, cookie: str, shown: str
) -> None:
    client.cookies["theme"] = cookie
    assert f'<html lang="en"{shown}>' in body(client, "/accounts/login/")


def test_unknown_urls_and_projects_of_others_look_the_same(ada: Client, harbor: World) -> None:
    unknown = ada.get("/nowhere/")
    foreign = ada.get("/projects/00000000-0000-4000-8000-000000000000/")
    texts = [
        re.sub(r'content="\w{64}"', "", answer.content.decode()) for answer in (unknown, foreign)
    ]
    assert unknown.status_code == foreign.status_code == 404
    assert texts[0] == texts[1]
    assert "Page not found" in texts[0]


def test_missing_permission_and_missing_object_show_different_pages(harbor: World) -> None:
    role = harbor.role(permissions.VIEWER)
    role.permissions = ["projects:read"]
    role.save()
    viewer = User.objects.create_user("vic")
    harbor.project.workspace.members.create(user=viewer)
    members.add_person(harbor.project, user=viewer, role=role, by=harbor.owner)
    client = Client()
    client.force_login(viewer)
    answer = client.get(page(harbor, "agents/"))
    assert answer.status_code == 403
    assert "agents:read" in answer.content.decode()


def test_server_error_page_shows_the_request_id(
    ada: Client, harbor: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("paca.web.selectors.active_conversations", broken)
    ada.raise_request_exception = False
    answer = ada.get(page(harbor), headers={"X-Request-ID": "told-by-the-test"})
    assert answer.status_code == 500
    assert "told-by-the-test" in answer.content.decode()


def test_style_guide_is_served(ada: Client) -> None:
    assert "Tool card, every state" in body(ada, "/styleguide/")


def test_pages_say_why_a_conversation_has_not_begun(ada: Client, harbor: World) -> None:
    chat(harbor)
    agents.configure(harbor.agent, by=harbor.owner, status="paused")
    for path in (page(harbor), page(harbor, "conversations/"), page(harbor, "agents/")):
        assert "agent paused" in body(ada, path) or "the agent is paused" in body(ada, path)


def test_conversation_that_waits_for_its_sandbox_does_not_ask_for_a_person(
    ada: Client, harbor: World
) -> None:
    started = chat(harbor).conversation_id
    for status, reason in (("running", ""), ("waiting", "sandbox")):
        Conversation.objects.filter(pk=started).update(status=status, reason=reason)
    for path in (page(harbor), page(harbor, "conversations/"), page(harbor, "agents/")):
        text = body(ada, path)
        assert "Needs you" not in text
        assert "Waiting · sandbox" in text


def test_page_of_a_conversation_has_the_running_turn(ada: Client, harbor: World) -> None:
    started = chat(harbor).conversation_id
    claim.claim("test", lease_seconds=60, limit=1)
    text = unescape(body(ada, page(harbor, f"conversations/{started}/")))
    assert '"turn": {"number": 1, "started_at": ' in text
