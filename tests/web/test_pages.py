"""What each page shows, to whom, and with how many queries."""

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
from paca.agents import services as agents
from paca.conversations import services as conversations
from paca.engine.llm.demo import scripted_model
from paca.projects import permissions
from paca.projects.services import members
from tests.support.world import World

HOSTILE = """<img src=x onerror=alert(1)>"'><script>alert(1)</script>"""


def chat(harbor: World, text: str = "Find the bug") -> conversations.MessageReceipt:
    return conversations.start_chat(harbor.agent, text=text, by=harbor.owner)


def body(client: Client, path: str, **options: Any) -> str:
    answer = client.get(path, **options)
    assert answer.status_code == 200, answer.status_code
    return answer.content.decode()


def page(harbor: World, rest: str = "") -> str:
    return f"/projects/{harbor.project.id}/{rest}"


def test_the_only_project_is_where_one_begins(ada: Client, harbor: World) -> None:
    assert ada.get("/").headers["Location"] == page(harbor)


def test_who_is_in_no_project_is_told_so(harbor: World, db: None) -> None:
    client = Client()
    client.force_login(User.objects.create_user("nobody"))
    assert "You are not a member of a project yet" in body(client, "/")


def test_the_overview_invites_to_write_to_the_agent(ada: Client, harbor: World) -> None:
    text = unescape(body(ada, page(harbor)))
    assert "Rosa is ready" in text
    assert (
        f'data-start="/api/v1/projects/{harbor.project.id}/agents/{harbor.agent.id}/chat-sessions/"'
        in text
    )
    assert [
        prompt for _title, prompt in scripted_model.PROMPTS if f'data-prompt="{prompt}"' in text
    ] == [prompt for _title, prompt in scripted_model.PROMPTS]


def test_of_several_agents_one_is_chosen_and_inactive_ones_are_not_offered(
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


def test_getting_started_ends_when_everything_is_done_or_it_is_hidden(
    ada: Client, harbor: World
) -> None:
    assert "Getting started" in body(ada, page(harbor))
    ada.cookies["checklist"] = "hidden"
    assert "Getting started" not in body(ada, page(harbor))
    del ada.cookies["checklist"]
    chat(harbor)
    harbor.agent.model = "anthropic/claude-sonnet-4-5"
    harbor.agent.save()
    assert "Getting started" not in body(ada, page(harbor))


def test_a_project_without_agents_says_what_to_do(ada: Client, harbor: World) -> None:
    agents.retire(harbor.agent, by=harbor.owner)
    assert "No agents yet" in body(ada, page(harbor))
    assert "No agents yet" in body(ada, page(harbor, "agents/"))


def test_who_may_only_watch_gets_no_composer(harbor: World) -> None:
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


def test_the_agents_say_what_they_do_now(ada: Client, harbor: World) -> None:
    assert "No conversation running" in body(ada, page(harbor, "agents/"))
    chat(harbor, "Find the bug")
    text = body(ada, page(harbor, "agents/"))
    assert "Find the bug" in text
    assert "Queued" in text


def test_conversations_are_found_by_title_and_by_what_was_said(ada: Client, harbor: World) -> None:
    chat(harbor, "Find the bug\nin the tax rounding")
    chat(harbor, "Write a poem")
    found = body(ada, page(harbor, "conversations/"), data={"q": "rounding"})
    assert "Find the bug" in found
    assert "Write a poem" not in found.split('<form class="searchbox')[1]
    assert "Nothing found for" in body(ada, page(harbor, "conversations/"), data={"q": "nowhere"})


def test_an_empty_list_of_conversations_is_no_error(ada: Client, harbor: World) -> None:
    assert "No conversations yet" in body(ada, page(harbor, "conversations/"))


@pytest.mark.parametrize("number", ["0", "-1", "x", "99999999", "9" * 5000, "²", "\n", ""])
def test_a_senseless_page_number_shows_some_page(ada: Client, harbor: World, number: str) -> None:
    assert ada.get(page(harbor, "conversations/"), {"page": number}).status_code == 200


def test_long_lists_have_pages(ada: Client, harbor: World) -> None:
    for number in range(32):
        chat(harbor, f"Task {number:02}")
    first = body(ada, page(harbor, "conversations/")).split('<form class="searchbox')[1]
    second = body(ada, page(harbor, "conversations/?page=2")).split('<form class="searchbox')[1]
    on_first = set(re.findall(r"Task \d\d", first))
    on_second = set(re.findall(r"Task \d\d", second))
    assert len(on_first) == 30
    assert len(on_second) == 2
    assert not on_first & on_second


def handed_over(text: str) -> dict[str, Any]:
    """What the page gives its element."""
    found = re.search(r'<paca-conversation class="main" page="([^"]*)"', text)
    assert found
    given: dict[str, Any] = json.loads(unescape(found[1]))
    return given


def test_the_page_of_a_conversation_has_title_and_state_before_any_script(
    ada: Client, harbor: World
) -> None:
    sent = chat(harbor)
    text = body(ada, page(harbor, f"conversations/{sent.conversation_id}/"))
    assert "<h1>Find the bug</h1>" in text
    assert "Queued" in text
    given = handed_over(text)
    assert given["conversation"]["id"] == str(sent.conversation_id)
    assert given["agent"]["name"] == "Rosa"
    assert ada.get(given["urls"]["api"]).status_code == 200


def test_what_people_and_models_write_is_never_markup(ada: Client, harbor: World) -> None:
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
def test_the_number_of_queries_does_not_grow_with_the_rows(
    ada: Client, harbor: World, rest: str
) -> None:
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
    assert few <= 12


# --- signing in -------------------------------------------------------------------------------------


def test_the_sign_in_page_is_ours(client: Client, db: None) -> None:
    text = body(client, "/accounts/login/")
    assert "sign_in_link" in text
    assert 'autocomplete="current-password"' in text


def test_a_wrong_password_is_said_in_words(client: Client, harbor: World) -> None:
    answer = client.post("/accounts/login/", {"login": harbor.user.username, "password": "wrong"})
    assert "are not correct" in answer.content.decode()


def test_a_one_time_link_is_looked_at_first_and_used_by_a_press(
    client: Client, harbor: World
) -> None:
    secret = accounts.create_one_time_link(harbor.user)
    path = f"/link/{secret}/"
    assert f"Sign in as {harbor.user.username}" in body(client, path)
    assert "_auth_user_id" not in client.session
    assert client.post(path).headers["Location"] == "/"
    assert client.session["_auth_user_id"] == str(harbor.user.pk)
    again = Client().get(path)
    assert again.status_code == 404
    assert "has been used or has expired" in again.content.decode()


def test_a_one_time_link_cannot_be_pressed_from_another_site(harbor: World) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post(f"/link/{accounts.create_one_time_link(harbor.user)}/")
    assert answer.status_code == 403
    assert "The form was not accepted" in answer.content.decode()


# --- looks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cookie", "shown"),
    [("dark", ' data-theme="dark"'), ("light", ' data-theme="light"'), ("", ""), ('"><b>', "")],
)
def test_the_theme_is_pinned_by_the_cookie_before_the_first_paint(
    client: Client, db: None, cookie: str, shown: str
) -> None:
    client.cookies["theme"] = cookie
    assert f'<html lang="en"{shown}>' in body(client, "/accounts/login/")


def test_unknown_addresses_and_foreign_projects_look_the_same(ada: Client, harbor: World) -> None:
    unknown = ada.get("/nowhere/")
    foreign = ada.get("/projects/00000000-0000-4000-8000-000000000000/")
    texts = [
        re.sub(r'content="\w{64}"', "", answer.content.decode()) for answer in (unknown, foreign)
    ]
    assert unknown.status_code == foreign.status_code == 404
    assert texts[0] == texts[1]
    assert "Page not found" in texts[0]


def test_a_right_that_is_missing_is_another_page_than_a_missing_thing(harbor: World) -> None:
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


def test_a_fault_shows_the_number_under_which_the_log_tells_more(
    ada: Client, harbor: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("paca.web.selectors.active_conversations", broken)
    ada.raise_request_exception = False
    answer = ada.get(page(harbor), headers={"X-Request-ID": "told-by-the-test"})
    assert answer.status_code == 500
    assert "told-by-the-test" in answer.content.decode()


def test_the_style_guide_is_a_page_like_the_others(ada: Client) -> None:
    assert "Tool card, every state" in body(ada, "/styleguide/")
