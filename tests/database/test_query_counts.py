"""Every list of the API and of the pages costs as many queries for 30 rows as for 3."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from paca.accounts.models import User
from paca.accounts.services import tokens
from paca.agents import services as agents
from paca.conversations import services as conversations
from paca.conversations.models import ChatSession, Conversation
from paca.projects import permissions
from paca.projects.services import members, projects, roles, workspaces
from tests.security.access_routes import all_routes
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db

FEW, MANY = 3, 30


class Grown:
    """A project with some rows of every kind. ``grow`` adds more of each kind."""

    def __init__(self) -> None:
        self.here = make_world()
        self.size = 0
        self.chat = conversations.start_chat(self.here.agent, text="Hello", by=self.here.owner)
        self.browser = Client()
        self.browser.force_login(self.here.user)

    def grow(self, size: int) -> None:
        while self.size < size:
            self.size += 1
            self._one_more(self.here, self.size)

    def _one_more(self, here: World, number: int) -> None:
        user = User.objects.create_user(username=f"person-{number}", password="a long password 7")
        workspaces.add_person(here.project.workspace, user=user)
        role = roles.create(
            here.project, name=f"Role {number}", permissions=["agents:read"], by=here.owner
        )
        members.add_person(here.project, user=user, role=role, by=here.owner)
        projects.create(here.project.workspace, f"Project {number}", by=here.user)
        workspaces.create(f"Workspace {number}", owner=here.user)
        tokens.create(here.user, name=f"token {number}", scopes=["*"], by=here.user)
        agent = agents.create(
            here.project,
            name=f"Agent {number}",
            handle=f"agent-{number}",
            model="demo/guide",
            role=here.role(permissions.AGENT),
            by=here.owner,
        )
        conversations.start_chat(agent, text="Hello", by=here.owner)
        conversations.start_chat(here.agent, text="Hello", by=here.owner)
        talk = Conversation.objects.get(pk=self.chat.conversation_id)
        conversations.send(talk, text="More", by=here.owner)

    def addresses(self) -> dict[str, str]:
        """Every readable address with the ids of this project, by its route."""
        ids: dict[str, Any] = {
            "project": self.here.project.pk,
            "project_id": self.here.project.pk,
            "workspace_id": self.here.project.workspace_id,
            "agent_id": self.here.agent.pk,
            "conversation_id": self.chat.conversation_id,
            "session_id": ChatSession.objects.get(conversation=self.chat.conversation_id).pk,
            "member_id": self.here.owner.pk,
            "role_id": self.here.owner.role_id,
        }
        found = {}
        for route in all_routes():
            method, path = route.split(" ", 1)
            names = re.findall(r"{(\w+)}", path)
            if method == "GET" and all(name in ids for name in names):
                found[path] = path.format(**ids)
        return found

    def look(self, address: str) -> tuple[int, int]:
        """The number of queries of a request, and the length of its response."""
        with CaptureQueriesContext(connection) as captured:
            answer = self.browser.get(address)
        return len(captured), len(b"" if answer.streaming else answer.content)


LISTS = (
    "/api/v1/projects/",
    "/api/v1/workspaces/",
    "/api/v1/tokens/",
    "/api/v1/projects/{project}/agents/",
    "/api/v1/projects/{project}/agents/{agent_id}/chat-sessions/",
    "/api/v1/projects/{project}/conversations/",
    "/api/v1/projects/{project}/conversations/{conversation_id}/events/",
    "/api/v1/projects/{project}/members/",
    "/api/v1/projects/{project}/roles/",
    "/",
    "/workspaces/{workspace_id}/",
    "/projects/{project}/",
    "/projects/{project}/agents/",
    "/projects/{project}/conversations/",
)


def test_addresses_cost_the_same_queries_however_many_rows_there_are():
    grown = Grown()
    grown.grow(FEW)
    routes = grown.addresses()
    few = {route: grown.look(address) for route, address in routes.items()}
    grown.grow(MANY)
    many = {route: grown.look(address) for route, address in routes.items()}
    assert {
        route: (few[route], many[route]) for route in routes if many[route][0] > few[route][0]
    } == {}
    # Of those that list what has grown, the answers have too: the walk saw the rows.
    assert [route for route in LISTS if many[route][1] <= few[route][1]] == []
