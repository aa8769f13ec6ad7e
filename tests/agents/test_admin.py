"""The admin pages of agents: forms, actions and escaping."""

import re
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from paca.accounts.models import AuditEntry, User
from paca.agents import encryption
from paca.agents import services as agents
from paca.agents.models import Agent
from paca.agents.toolbox import tool_names
from tests.support.world import MODEL, World, make_world

pytestmark = pytest.mark.django_db
KEY = "sk-ant-0123456789-abcdefghij-WXYZ"
HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="a long password 7"))
    return client


def change_page(agent: Agent) -> str:
    return f"/admin/agents/agent/{agent.pk}/change/"


def form_data(world: World, agent: Agent | None = None, **changes: Any) -> dict[str, Any]:
    """The form data of an agent, or of a new one."""
    data: dict[str, Any] = {
        name: "" if agent is None or getattr(agent, name) is None else getattr(agent, name)
        for name in agents.SETTINGS
    }
    if agent is None:
        data |= {"name": "Bo", "handle": "@Bo", "model": "demo/guide", "status": "active"}
        data |= {"limit_concurrent": 5, "git_name": "Bo", "git_email": "bo@boats.example"}
        data |= {"project": world.project.pk, "sandbox_life": "ephemeral", "approval": "auto"}
        data |= {"sandbox_network": "restricted"}
        data |= {"verification": "off", "category": "custom", "priority": 1}
        data |= {"memory": "ask", "limit_helpers": 4}
    data |= {"parameters": "{}", "role": world.role("agent").pk, "new_llm_key": ""}
    data["tools"] = tool_names() if agent is None or agent.tools is None else agent.tools
    return {**data, **changes}


def messages_of(response: Any) -> list[str]:
    return [str(message) for message in get_messages(response.wsgi_request)]


def test_admin_makes_an_agent_with_its_membership(world: World, admin: Client) -> None:
    answer = admin.post("/admin/agents/agent/add/", form_data(world, new_llm_key=KEY))
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    agent = Agent.objects.get(handle="bo")
    assert (agent.member.role, encryption.decrypt(agent.encrypted_key)) == (
        world.role("agent"),
        KEY,
    )
    entry = AuditEntry.objects.get(action="agent.created", object_id=str(agent.pk))
    assert entry.actor_name == "root"


def test_admin_saves_a_change_and_keeps_the_key_if_its_field_is_empty(
    world: World, admin: Client
) -> None:
    agent = world.agent
    agents.configure(agent, by=world.owner, llm_api_key=KEY)
    answer = admin.post(
        change_page(agent), form_data(world, agent, limit_steps="7", system_prompt="Hello")
    )
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    agent.refresh_from_db()
    assert (agent.limit_steps, agent.system_prompt) == (7, "Hello")
    assert encryption.decrypt(agent.encrypted_key) == KEY
    admin.post(change_page(agent), form_data(world, agent, forget_llm_key="on"))
    agent.refresh_from_db()
    assert not agent.has_key


def test_admin_form_that_was_open_keeps_a_status_that_changed_meanwhile(
    world: World, admin: Client
) -> None:
    agent = world.agent
    [opened] = re.findall(
        r'name="initial-status" value="(\w+)"', admin.get(change_page(agent)).content.decode()
    )
    for wanted, saved in (("active", "inactive"), ("paused", "paused")):
        data = form_data(world, agent, status=wanted, description=wanted)
        Agent.objects.filter(pk=agent.pk).update(status="inactive")
        answer = admin.post(change_page(agent), {**data, "initial-status": opened})
        assert answer.status_code == 302, answer.context["adminform"].form.errors
        found = Agent.objects.get(pk=agent.pk)
        assert (found.status, found.description) == (saved, wanted)


def test_stored_key_is_on_no_admin_page(world: World, admin: Client) -> None:
    agents.configure(world.agent, by=world.owner, llm_api_key=KEY)
    pages = [
        admin.get(change_page(world.agent)).content,
        admin.get("/admin/agents/agent/").content,
        admin.post(
            change_page(world.agent), form_data(world, world.agent, new_llm_key=KEY, name="")
        ).content,
        admin.get("/admin/accounts/auditentry/").content,
    ]
    for content in pages:
        assert KEY.encode() not in content
        assert world.agent.encrypted_key.encode() not in content
    assert b"WXYZ" in pages[0]


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"name": ""}, "name", "required"),
        ({"handle": "not a handle"}, "handle", "small letters"),
        ({"handle": "ada-harbor"}, "handle", "A person of this project has this username."),
        ({"model": "gpt"}, "model", "provider/model"),
        ({"model": "acme/gpt"}, "model", "is not a known model"),
        ({"base_url": "ftp://x"}, "base_url", "Write an address such as"),
        ({"parameters": '{"temprature": 1}'}, "parameters", "is not known"),
        ({"parameters": "nonsense"}, "parameters", "valid JSON"),
        ({"limit_steps": "0"}, "limit_steps", "greater than or equal to 1"),
        ({"limit_concurrent": "11"}, "limit_concurrent", "less than or equal to 10"),
        ({"status": "asleep"}, "status", "Select a valid choice"),
        ({"git_email": "nobody"}, "git_email", "valid email"),
        ({"new_llm_key": "two words"}, "new_llm_key", "no spaces"),
    ],
)
def test_admin_shows_each_error_beside_its_field(
    changes: dict[str, Any], field: str, message: str, world: World, admin: Client
) -> None:
    answer = admin.post(change_page(world.agent), form_data(world, world.agent, **changes))
    assert answer.status_code == 200
    assert message in str(answer.context["adminform"].form.errors[field])
    stored = Agent.objects.get(pk=world.agent.pk)
    assert (stored.name, stored.updated_at) == ("Rosa", world.agent.updated_at)


def test_admin_does_not_keep_a_stored_key_for_another_base_url(world: World, admin: Client) -> None:
    agents.configure(world.agent, by=world.owner, model=MODEL, llm_api_key=KEY)
    moved = form_data(world, world.agent, base_url="https://evil.example")
    answer = admin.post(change_page(world.agent), moved)
    assert "Type the key again" in str(answer.context["adminform"].form.errors["new_llm_key"])


def test_admin_refuses_a_role_of_another_project(world: World, admin: Client) -> None:
    foreign = make_world("Elsewhere").role("agent").pk
    for address, agent in (
        (change_page(world.agent), world.agent),
        ("/admin/agents/agent/add/", None),
    ):
        answer = admin.post(address, form_data(world, agent, role=foreign))
        assert "role" in answer.context["adminform"].form.errors


def test_admin_can_test_the_connection_when_saving(
    world: World, admin: Client, django_capture_on_commit_callbacks: Any
) -> None:
    button = re.search(
        r'name="(\w+save_and_test)"', admin.get(change_page(world.agent)).content.decode()
    )
    assert button is not None
    for changes, message in (
        ({}, "The demo answers by itself"),
        ({"model": MODEL, "name": "Ada"}, "needs an API key"),
    ):
        body = form_data(world, world.agent, **changes, **{button[1]: "1"})
        with django_capture_on_commit_callbacks(execute=True):
            answer = admin.post(change_page(world.agent), body)
        assert any(message in text for text in messages_of(answer))
        assert answer.url == change_page(world.agent), (
            "the form stays open after a connection check"
        )
    world.agent.refresh_from_db()
    assert world.agent.name == "Ada"


def test_admin_retires_agents_and_never_deletes_them(world: World, admin: Client) -> None:
    assert admin.post(f"/admin/agents/agent/{world.agent.pk}/delete/").status_code == 403
    body = {"action": "retire", "_selected_action": [str(world.agent.pk)]}
    admin.post("/admin/agents/agent/", body)
    assert Agent.objects.get(pk=world.agent.pk).deleted_at is not None
    assert b"Rosa" not in admin.get("/admin/agents/agent/").content


def test_admin_pages_escape_hostile_names(world: World, admin: Client) -> None:
    agents.configure(world.agent, by=world.owner, name=HOSTILE, description=HOSTILE)
    for address in (
        change_page(world.agent),
        "/admin/agents/agent/",
        "/admin/projects/member/",
        "/admin/accounts/auditentry/",
        f"/admin/projects/member/{world.agent.member.pk}/change/",
    ):
        content = admin.get(address).content.decode()
        assert "<img src=x" not in content
        assert "&lt;img src=x" in content


def test_admin_policy_allows_eval_for_its_templates_and_no_inline_script(
    world: World, admin: Client
) -> None:
    answer = admin.get(change_page(world.agent))
    policy = dict(
        part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";")
    )
    assert policy["script-src"] == "'self' 'unsafe-eval'"
    inline = re.findall(rb"<script(?![^>]*\bsrc=)[^>]*>", answer.content)
    assert [tag for tag in inline if b"application/json" not in tag and b"text/" not in tag] == []
    elsewhere = admin.get("/healthz").headers["Content-Security-Policy"]
    assert "unsafe" not in elsewhere


def test_admin_chooses_the_tools_of_an_agent(world: World, admin: Client) -> None:
    some = ["bash", "read_task"]
    for given, kept in ((some[::-1], some), ([], []), (tool_names(), None)):
        answer = admin.post(change_page(world.agent), form_data(world, world.agent, tools=given))
        assert answer.status_code == 302, answer.context["adminform"].form.errors
        assert Agent.objects.get(pk=world.agent.pk).tools == kept
    answer = admin.post(change_page(world.agent), form_data(world, world.agent, tools=["fly"]))
    assert "fly is not one of the available choices" in answer.content.decode()


@pytest.mark.parametrize("tools", [None, [], ["bash"]])
def test_admin_who_changes_something_else_leaves_the_tools(
    world: World, admin: Client, tools: list[str] | None
) -> None:
    agents.configure(world.agent, by=world.owner, tools=tools)
    form = admin.get(change_page(world.agent)).context["adminform"].form
    shown = form["tools"].value()
    answer = admin.post(
        change_page(world.agent), form_data(world, world.agent, tools=shown, description="New")
    )
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    saved = Agent.objects.get(pk=world.agent.pk)
    assert (saved.description, saved.tools) == ("New", tools)
