"""What the tests of skills from git do and compare."""

from typing import Any

from django.http import HttpResponse

from tests.support.api import Api
from tests.support.git_server import GitServer
from tests.support.world import World

BOATS = b"---\nname: boats\ndescription: Builds boats.\ntriggers: boat\n---\nHow to build boats.\n"
SAILS = b"---\nname: sails\ndescription: Sews sails.\n---\nSew with care.\n"
PLAN = b"keel\nhull\n"


def path(world: World, *parts: Any) -> str:
    ends = "".join(f"{part}/" for part in parts)
    return f"/projects/{world.project.pk}/agents/{world.agent.pk}/skills/{ends}"


def look(api: Api, world: World, url: str, **more: str) -> Any:
    answer = api.post(path(world, "git", "look"), {"url": url, **more})
    assert answer.status_code == 200, answer.content
    return answer.json()


def take(api: Api, world: World, found: dict[str, Any], *folders: str, **headers: str) -> Any:
    source = {name: found[name] for name in ("url", "ref", "folder", "commit")}
    return api.post(path(world, "git", "import"), {**source, "folders": [*folders]}, **headers)


def taken(api: Api, world: World, server: GitServer, folder: str = "skills/boats") -> Any:
    """A skill that was taken from ``kit``."""
    answer = take(api, world, look(api, world, server.url("kit")), folder)
    assert answer.status_code == 201, answer.content
    return answer.json()[0]


def refusal(api: Api, world: World, url: str, **more: str) -> tuple[int, str, str]:
    """Status, code and words of a look that is refused."""
    answer: HttpResponse = api.post(path(world, "git", "look"), {"url": url, **more})
    body = answer.json()
    said = body.get("fields") or {"": [body["detail"]]}
    return answer.status_code, body["code"], " ".join(sum(said.values(), []))
