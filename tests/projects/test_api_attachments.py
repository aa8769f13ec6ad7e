"""The API of files attached to tasks: upload, download and limits."""

from typing import Any

import pytest
from django.conf import LazySettings

from paca.common.request_body import MAX_BODY_BYTES, max_body_bytes
from paca.projects.models import Attachment
from paca.projects.services import tasks
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db

PAGE = b"<script>alert(1)</script>"


@pytest.fixture
def world() -> World:
    world = make_world()
    tasks.create(world.project, title="Paint", by=world.owner)
    return world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


@pytest.fixture
def path(world: World) -> str:
    return f"/api/v1/projects/{world.project.pk}/tasks/1/attachments/"


def upload(api: Api, address: str, data: bytes, kind: str = "text/html", **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.client.generic("POST", address, data, content_type=kind, headers=named)


def test_file_is_downloaded_as_it_was_and_never_shown(api: Api, path: str) -> None:
    made = upload(api, f"{path}?name=../page.html", PAGE)
    assert made.status_code == 201
    attachment = made.json()
    assert (attachment["name"], attachment["content_type"]) == ("page.html", "text/html")
    assert attachment["size_bytes"] == len(PAGE)
    answer = api.client.get(f"{path}{attachment['id']}/download/")
    assert answer.content == PAGE
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="page.html"'
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert api.client.get(path).json()["results"] == [attachment]
    assert api.client.delete(f"{path}{attachment['id']}/").status_code == 204
    assert not Attachment.objects.exists()


@pytest.mark.anyio
@pytest.mark.django_db(transaction=True)
async def test_large_file_is_streamed(world: World, path: str) -> None:
    from asgiref.sync import sync_to_async

    data = bytes(range(256)) * 6000

    def send_and_ask() -> Any:
        api = Api(world.user)
        made = upload(api, f"{path}?name=large.bin", data, "application/octet-stream")
        return api.client.get(f"{path}{made.json()['id']}/download/")

    answer = await sync_to_async(send_and_ask)()
    assert answer.streaming
    assert b"".join([part async for part in answer]) == data


def test_repeated_upload_with_a_key_attaches_one_file(api: Api, path: str) -> None:
    for _ in range(2):
        assert upload(api, f"{path}?name=a", PAGE, Idempotency_Key="k1").status_code == 201
    assert Attachment.objects.count() == 1
    other = upload(api, f"{path}?name=a", PAGE + b" ", Idempotency_Key="k1")
    assert other.json()["code"] == "idempotency_key_reused"


def test_file_above_the_limit_is_refused(api: Api, path: str, settings: LazySettings) -> None:
    settings.ATTACHMENT_MIB = 3
    three = 3 * 1024 * 1024
    assert upload(api, f"{path}?name=a", bytes(three)).status_code == 201
    refused = upload(api, f"{path}?name=a", bytes(three + 1))
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
    assert "at most 3 MiB" in refused.json()["detail"]
    settings.ATTACHMENTS_PER_TASK_MIB = 3
    refused = upload(api, f"{path}?name=b", b"x")
    assert (refused.status_code, refused.json()["code"]) == (413, "attachments_full")


@pytest.mark.parametrize(
    ("query", "kind", "detail"),
    [
        ("", "text/plain", "The file needs a name."),
        ("?name=..", "text/plain", "The file needs a name."),
        ("?name=a", "multipart/form-data; boundary=x", "not a form"),
    ],
)
def test_bad_upload_is_refused_with_its_cause(
    query: str, kind: str, detail: str, api: Api, path: str
) -> None:
    refused = upload(api, f"{path}{query}", PAGE, kind)
    assert refused.status_code == 400
    assert detail in str(refused.json())


def test_only_the_address_of_uploads_takes_large_bodies(path: str) -> None:
    assert max_body_bytes(path) == 10 * 1024 * 1024
    for other in ("/api/v1/projects/", f"{path}x/", f"/x{path}", "/"):
        assert max_body_bytes(other) == MAX_BODY_BYTES
