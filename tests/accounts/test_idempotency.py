"""The ``Idempotency-Key`` header: a repeated request does no work and gets the first answer."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.urls import get_resolver
from django.utils import timezone

from paca.accounts.models import IdempotentAnswer
from paca.projects.models import Project
from paca.projects.services import projects
from tests.security.access_routes import all_routes, parameters
from tests.support.api import Api
from tests.support.world import make_world

# Parameters of paths that are no ids.
NUMBERS = {"number", "version", "event_seq"}
# These routes answer a secret, which must not be stored, or change nothing, or refuse a repeat: the name
# of an uploaded skill is taken then.
WITHOUT_KEY = {
    "POST /api/v1/workspaces/{workspace_id}/invitations/",
    "POST /api/v1/projects/{project}/invitations/",
    "POST /api/v1/projects/{project}/agents/{agent_id}/skills/upload/",
    "POST /api/v1/projects/{project}/agents/{agent_id}/skills/git/look/",
    "POST /api/v1/projects/{project}/agents/{agent_id}/skills/{skill_id}/check/",
    "POST /api/v1/tokens/",
    "POST /api/v1/tickets/",
    # A key takes the place of that for the same provider: twice is once.
    "POST /api/v1/model-keys/",
    "POST /api/v1/projects/{project}/model-keys/",
    "POST /api/v1/projects/{project}/agents/{agent_id}/test-connection/",
    # A decision names what was read, a test and a sign-in replace the one before: twice is once.
    "POST /api/v1/projects/{project}/agents/{agent_id}/mcp-servers/{server_id}/tools/",
    "POST /api/v1/projects/{project}/agents/{agent_id}/mcp-servers/{server_id}/sign-in/",
    "POST /api/v1/projects/{project}/agents/{agent_id}/mcp-servers/{server_id}/test/",
    "POST /api/v1/projects/{project}/repositories/{repository_id}/test/",
    # A secret that is shown once: the answer is kept nowhere, and the next one takes its place.
    "POST /api/v1/projects/{project}/repositories/{repository_id}/webhook-secret/",
    # A variable takes the place of that of the same name, a file that of the same bytes: twice is once.
    "POST /api/v1/projects/{project}/variables/",
    "POST /api/v1/projects/{project}/agents/{agent_id}/variables/",
    "POST /api/v1/projects/{project}/conversations/{conversation_id}/files/",
}


@pytest.mark.django_db
def test_idempotency_key_replays_the_answer_and_does_the_work_once() -> None:
    api = Api(make_world().user)
    first = api.post("/projects/", {"name": "New"}, Idempotency_Key="k1")
    again = api.post("/projects/", {"name": "New"}, Idempotency_Key="k1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replay"] == "true"
    assert Project.objects.filter(name="New").count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("body", [{"name": "Other"}, {"name": "New", "description": "x"}])
def test_idempotency_key_with_another_body_is_refused(body: dict[str, str]) -> None:
    api = Api(make_world().user)
    api.post("/projects/", {"name": "New"}, Idempotency_Key="k1")
    refused = api.post("/projects/", body, Idempotency_Key="k1")
    assert (refused.status_code, refused.data["code"]) == (409, "idempotency_key_reused")


@pytest.mark.django_db
def test_idempotency_key_belongs_to_one_person() -> None:
    ada, bob = make_world("One"), make_world("Two")
    Api(ada.user).post("/projects/", {"name": "New"}, Idempotency_Key="k1")
    mine = Api(bob.user).post("/projects/", {"name": "New"}, Idempotency_Key="k1")
    assert mine.json()["workspace_id"] == str(bob.project.workspace_id)


@pytest.mark.django_db
def test_idempotency_key_can_be_used_again_after_a_failed_request() -> None:
    world = make_world()
    api = Api(world.user)
    assert api.post("/projects/", {"name": "Harbor"}, Idempotency_Key="k1").status_code == 400
    projects.change(world.project, by=world.owner, name="Old harbor")
    assert api.post("/projects/", {"name": "Harbor"}, Idempotency_Key="k1").status_code == 201


@pytest.mark.django_db
def test_idempotency_key_can_be_used_again_after_a_day() -> None:
    api = Api(make_world().user)
    api.post("/projects/", {"name": "New"}, Idempotency_Key="k1")
    yesterday = timezone.now() - timedelta(hours=24, seconds=1)
    IdempotentAnswer.objects.update(created_at=yesterday)
    assert api.post("/projects/", {"name": "Other"}, Idempotency_Key="k1").status_code == 201


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["x" * 256, "a\tb"])
def test_idempotency_key_that_is_too_long_or_unprintable_is_refused(key: str) -> None:
    refused = Api(make_world().user).post("/projects/", {"name": "New"}, Idempotency_Key=key)
    assert (refused.status_code, refused.data["code"]) == (400, "invalid")


@pytest.mark.django_db(transaction=True)
def test_idempotency_key_of_concurrent_requests_does_the_work_once() -> None:
    user = make_world().user
    start = threading.Barrier(6)
    answers: list[Any] = []

    def send() -> None:
        api = Api(user)
        start.wait()
        try:
            answers.append(api.post("/projects/", {"name": "New"}, Idempotency_Key="k1"))
        finally:
            connection.close()

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in answers] == [201] * 6
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert Project.objects.filter(name="New").count() == 1


def test_idempotency_key_is_supported_by_every_post_of_the_api() -> None:
    posts = {route for route in all_routes() if route.startswith("POST /api/")}
    supporting = {route for route in posts if getattr(_handler(route), "idempotent", False)}
    assert posts - supporting == WITHOUT_KEY


def _handler(route: str) -> Any:
    zeros = "00000000-0000-0000-0000-000000000000"
    path = route.partition(" ")[2]
    for name in parameters(path):
        path = path.replace(f"{{{name}}}", "1" if name in NUMBERS else zeros)
    view: Any = get_resolver().resolve(path).func
    return view.view_class.post
