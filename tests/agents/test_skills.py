"""Skills of agents: the API and the services behind it."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, connection, transaction
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from paca.accounts.models import AuditEntry
from paca.agents.models import Agent, Skill, SkillFile
from paca.agents.services import skills
from paca.projects import signals
from tests.agents.test_skill_archive import DOCUMENT, zipped
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db
BOATS = {"name": "boats", "description": "Builds boats.", "content": "# How\n"}
ZIP = zipped({"SKILL.md": DOCUMENT, "plan.txt": b"x" * 40, "build.py": b"\0\xff"})


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


def path(world: World, *parts: Any) -> str:
    ends = "".join(f"{part}/" for part in parts)
    return f"/projects/{world.project.pk}/agents/{world.agent.pk}/skills/{ends}"


def upload(api: Api, world: World, data: bytes, name: str = "file") -> HttpResponse:
    body = {name: SimpleUploadedFile("boats.zip", data)}
    answer: HttpResponse = api.client.post(
        f"/api/v1{path(world, 'upload')}", body, format="multipart"
    )
    return answer


def test_skill_is_shown_as_it_was_written(world: World, api: Api) -> None:
    given = {**BOATS, "triggers": ["Boat", "boat", " two   words "], "always_on": True}
    shown = api.post(path(world), given).json()
    assert shown == api.get(path(world, shown["id"])).json()
    facts = {name: shown[name] for name in ("name", "source", "content", "triggers", "files")}
    assert facts == {
        "name": "boats",
        "source": "inline",
        "content": "# How\n",
        "triggers": ["Boat", "two words"],
        "files": [],
    }
    assert (shown["enabled"], shown["always_on"], shown["token_estimate"]) == (True, True, 1)


def test_template_brings_its_text_and_keywords(world: World, api: Api) -> None:
    shown = api.post(path(world), {"template": "developer"}).json()
    [listed] = [
        each
        for each in api.get("/agents/skill-templates/").json()["results"]
        if each["slug"] == "developer"
    ]
    names = ("name", "description", "content", "triggers")
    assert {name: shown[name] for name in names} == {name: listed[name] for name in names}
    assert shown["source"] == "template"


def test_estimate_of_its_tokens_is_in_the_answer_and_on_the_page(
    world: World, api: Api, client: Client
) -> None:
    api.post(path(world), {**BOATS, "content": "x" * 401})
    api.post(path(world), {**BOATS, "name": "ships", "content": "x" * 40, "always_on": True})
    found = {
        each["name"]: each["token_estimate"] for each in api.get(path(world)).json()["results"]
    }
    assert found == {"boats": 100, "ships": 10}
    client.force_login(world.user)
    page = client.get(reverse("agent_settings", args=[world.project.pk, world.agent.pk]))
    assert "About 100 tokens when opened" in page.content.decode()
    assert "About 10 tokens in each request" in page.content.decode()


def test_uploaded_zip_becomes_a_skill_with_its_files(world: World, api: Api) -> None:
    shown = upload(api, world, ZIP).json()
    assert (shown["name"], shown["source"], shown["description"]) == (
        "boats",
        "upload",
        "Builds boats.",
    )
    assert shown["files"] == [
        {"path": "build.py", "size_bytes": 2},
        {"path": "plan.txt", "size_bytes": 40},
    ]
    assert bytes(SkillFile.objects.get(path="build.py").data) == b"\0\xff"


def test_uploaded_document_becomes_a_skill(world: World, api: Api) -> None:
    shown = upload(api, world, DOCUMENT).json()
    assert (shown["name"], shown["content"], shown["files"]) == (
        "boats",
        "How to build boats.\n",
        [],
    )


def test_upload_of_a_name_that_is_taken_is_refused_and_stores_nothing(
    world: World, api: Api
) -> None:
    upload(api, world, ZIP)
    answer = upload(api, world, ZIP)
    assert answer.json()["fields"] == {"name": ["The agent has a skill of this name."]}
    assert (Skill.objects.count(), SkillFile.objects.count()) == (1, 2)


def test_changed_skill_keeps_what_is_not_given(world: World, api: Api) -> None:
    shown = api.post(path(world), {**BOATS, "triggers": ["boat"]}).json()
    answer = api.patch(path(world, shown["id"]), {"enabled": False}, If_Match=shown["updated_at"])
    changed = answer.json()
    assert (changed["enabled"], changed["triggers"]) == (False, ["boat"])
    stale = api.patch(path(world, shown["id"]), {"content": "x"}, If_Match=shown["updated_at"])
    assert (stale.status_code, stale.json()["code"]) == (412, "changed_meanwhile")


def test_deleted_skill_is_gone_with_its_files(world: World, api: Api) -> None:
    shown = upload(api, world, ZIP).json()
    assert api.delete(path(world, shown["id"])).status_code == 204
    assert not Skill.objects.exists()
    assert not SkillFile.objects.exists()
    assert api.get(path(world, shown["id"])).status_code == 404


def test_every_change_of_a_skill_is_in_the_audit_trail_and_told_to_pages(
    world: World, api: Api
) -> None:
    told = []

    def hear(noun: str, id: Any, **_: Any) -> None:
        told.append((noun, id))

    signals.project_changed.connect(hear)
    try:
        one = path(world, api.post(path(world), BOATS).json()["id"])
        api.patch(one, {"content": "x", "enabled": True})
        api.patch(one, {"content": "x"})  # changes nothing
        api.delete(one)
    finally:
        signals.project_changed.disconnect(hear)
    entries = AuditEntry.objects.filter(action__startswith="skill.").order_by("created_at", "id")
    assert [(entry.action, entry.object_name, entry.project_id) for entry in entries] == [
        (action, "boats", world.project.pk)
        for action in ("skill.created", "skill.changed", "skill.deleted")
    ]
    assert entries[1].facts["fields"] == ["content"]
    assert told == [("agent", world.agent.pk)] * 3


# method, body, the field and a part of its error
BAD_INPUT: list[tuple[str, Any, str, str]] = [
    ("post", {}, "name", "This field is required."),
    ("post", {"name": "a", "content": "x"}, "description", "This field is required."),
    ("post", {**BOATS, "name": ""}, "name", "may not be blank"),
    ("post", {**BOATS, "name": "Boats"}, "name", "small letters"),
    ("post", {**BOATS, "name": "a--b"}, "name", "small letters"),
    ("post", {**BOATS, "name": "-a"}, "name", "small letters"),
    ("post", {**BOATS, "name": "a/b"}, "name", "small letters"),
    ("post", {**BOATS, "name": ".."}, "name", "small letters"),
    ("post", {**BOATS, "name": "a" * 65}, "name", "at most 64 characters"),
    ("post", {**BOATS, "name": "stop"}, "name", "keeps this name for itself"),
    ("post", {**BOATS, "name": "paca"}, "name", "keeps this name for itself"),
    ("post", {**BOATS, "name": "paca-chat"}, "name", "keeps this name for itself"),
    ("post", {**BOATS, "content": " "}, "content", "cannot be blank"),
    ("post", {**BOATS, "content": "x" * 60_001}, "content", "60000"),
    ("post", {**BOATS, "content": "a\0b"}, "content", "Null characters"),
    ("post", {**BOATS, "content": "\ud800"}, "content", "Surrogate characters"),
    ("post", {**BOATS, "description": "x" * 1025}, "description", "1024"),
    ("post", {**BOATS, "triggers": "boat"}, "triggers", "Expected a list"),
    ("post", {**BOATS, "triggers": ["!?"]}, "triggers", "with a letter or a digit"),
    ("post", {**BOATS, "triggers": ["x" * 51]}, "triggers", "at most 50"),
    ("post", {**BOATS, "triggers": [[]]}, "triggers.0", "Not a valid string"),
    ("post", {**BOATS, "triggers": [f"w{n}" for n in range(21)]}, "triggers", "at most 20"),
    ("post", {**BOATS, "source": "upload"}, "source", "There is no such field."),
    ("post", {**BOATS, "files": []}, "files", "There is no such field."),
    ("post", {"template": "developer", "name": "dev"}, "name", "A template brings this along"),
    ("patch", {"name": "other"}, "name", "There is no such field."),
    ("patch", {"enabled": "maybe"}, "enabled", "Must be a valid boolean."),
    ("patch", {"description": None}, "description", "may not be null"),
]


@pytest.mark.parametrize(("method", "body", "field", "message"), BAD_INPUT)
def test_wrong_input_is_refused_with_its_field(
    method: str, body: Any, field: str, message: str, world: World, api: Api
) -> None:
    here = path(world)
    if method == "patch":
        here = path(world, api.post(path(world), BOATS).json()["id"])
    answer = getattr(api, method)(here, body)
    assert answer.status_code == 400
    assert message in str(answer.json()["fields"].get(field)), answer.json()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "invalid"),
        (b"no skill", "bad_skill_document"),
        (b"PK\x03\x04", "bad_skill_archive"),
        (zipped({"SKILL.md": DOCUMENT, "../x": b""}), "bad_skill_archive"),
        (DOCUMENT.replace(b"boats\n", b"My Boats\n", 1), "invalid"),
    ],
)
def test_wrong_upload_is_refused(data: bytes, code: str, world: World, api: Api) -> None:
    answer = upload(api, world, data)
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert not Skill.objects.exists()


def test_upload_without_its_file_or_with_another_field_is_refused(world: World, api: Api) -> None:
    here = f"/api/v1{path(world, 'upload')}"
    body = {"file": SimpleUploadedFile("boats.zip", ZIP), "name": "boats"}
    answer = api.client.post(here, body, format="multipart")
    assert answer.json()["fields"] == {"name": ["There is no such field."]}
    empty = api.client.post(here, {}, format="multipart")
    assert empty.json()["fields"] == {"file": ["No file was submitted."]}


FORM = "multipart/form-data; boundary=x"
PART = b"--x\r\nContent-Disposition: form-data; name="


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        (b"{}", "application/json", 415, "unsupported_media_type"),
        (b"no boundary", "multipart/form-data", 400, "malformed"),
        (PART + b'"file"\r\n\r\nno file\r\n--x--', FORM, 400, "invalid"),
        (PART + b'"fi\xffle"; filename="\xff"\r\n\r\na\r\n--x--', FORM, 400, "invalid"),
        (PART + b'"file"; filename="a"\r\n\r\ncut off', FORM, 400, "invalid"),
        (b"".join(PART + b'"f"\r\n\r\na\r\n' for _ in range(1100)), FORM, 400, "malformed"),
        (
            b"".join(PART + b'"f"; filename="a"\r\n\r\na\r\n' for _ in range(110)),
            FORM,
            400,
            "malformed",
        ),
    ],
)
def test_malformed_form_is_refused(
    body: bytes, content_type: str, status: int, code: str, world: World, api: Api
) -> None:
    here = f"/api/v1{path(world, 'upload')}"
    answer = api.client.generic("POST", here, body, content_type=content_type)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_unknown_template_is_refused_with_the_known_ones(world: World, api: Api) -> None:
    answer = api.post(path(world), {"template": "pirate"}).json()
    assert answer["code"] == "unknown_template"
    assert "po-assistant, ba, developer, manual-tester" in answer["detail"]


def test_agent_has_a_limited_number_and_size_of_skills(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = world.agent
    monkeypatch.setattr(skills, "MAX_AGENT_FILE_BYTES", 50)
    skills.create_from_upload(agent, ZIP, by=None)
    with pytest.raises(skills.TooManySkills, match="MiB together"):
        skills.create(agent, by=None, **{**BOATS, "name": "b"}, files={"a": b"x" * 9})
    monkeypatch.setattr(skills, "MAX_AGENT_FILES", 2)
    with pytest.raises(skills.TooManySkills, match="at most 2 files"):
        skills.create(agent, by=None, **{**BOATS, "name": "b"}, files={"a": b""})
    monkeypatch.setattr(skills, "MAX_SKILLS", 1)
    with pytest.raises(skills.TooManySkills, match="at most 1 skills"):
        skills.create(agent, by=None, **{**BOATS, "name": "b"})


def test_database_refuses_a_skill_without_text_or_with_a_name_twice(world: World) -> None:
    skills.create(world.agent, by=None, **BOATS)
    for wrong in ({"name": "boats"}, {"name": "b", "content": ""}, {"name": "b", "source": "x"}):
        fields = {"description": "d", "content": "c", **wrong}
        with pytest.raises(IntegrityError), transaction.atomic():
            Skill.objects.create(agent=world.agent, **fields)


def test_list_takes_as_many_queries_for_30_skills_as_for_3(world: World, api: Api) -> None:
    counts = []
    for total in (3, 30):
        for number in range(world.agent.skills.count(), total):
            document = DOCUMENT.replace(b"boats", f"boats-{number}".encode(), 1)
            zip_ = zipped({"SKILL.md": document, "a": b"1"})
            skills.create_from_upload(world.agent, zip_, by=None)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert len(api.get(path(world)).json()["results"]) == total
        counts.append(len(queries))
        assert not any('"data"' in query["sql"] for query in queries)
    assert counts[0] == counts[1]


def test_agent_of_a_type_gets_its_prompt_and_skills(world: World, api: Api) -> None:
    types = {each["slug"]: each for each in api.get("/agent-types/").json()["results"]}
    body = {"name": "Dev", "handle": "dev", "model": "demo/guide", "agent_type": "developer"}
    agents = f"/projects/{world.project.pk}/agents/"
    made = api.post(agents, {**body, "role_id": str(world.role("agent").pk)}).json()
    assert made["prompts"]["system"] == types["developer"]["system_prompt"]
    assert made["description"] == types["developer"]["description"]
    assert [skill.name for skill in Agent.objects.get(pk=made["id"]).skills.all()] == ["developer"]


def test_given_settings_of_an_agent_win_over_those_of_its_type(world: World, api: Api) -> None:
    body = {"name": "Dev", "handle": "dev", "model": "demo/guide", "agent_type": "ba"}
    own = {"role_id": str(world.role("agent").pk), "prompts": {"system": "Mine."}}
    made = api.post(f"/projects/{world.project.pk}/agents/", {**body, **own}).json()
    assert made["prompts"]["system"] == "Mine."


def test_unknown_type_makes_no_agent_and_a_later_type_changes_no_prompt(
    world: World, api: Api
) -> None:
    body = {"name": "Dev", "handle": "dev", "model": "demo/guide", "agent_type": "pirate"}
    agents = f"/projects/{world.project.pk}/agents/"
    refused = api.post(agents, {**body, "role_id": str(world.role("agent").pk)})
    assert refused.json()["code"] == "unknown_template"
    changed = api.patch(f"{agents}{world.agent.pk}/", {"agent_type": "ba"}).json()
    assert (changed["agent_type"], changed["prompts"]["system"]) == ("ba", "")
    assert not world.agent.skills.exists()
    assert Agent.objects.count() == 1


def test_presets_are_the_types_without_skills(api: Api) -> None:
    presets = api.get("/agents/presets/").json()["results"]
    assert [each["slug"] for each in presets] == ["coding", "work", "own"]
    types = api.get("/agent-types/").json()["results"]
    assert [each["slug"] for each in types if each["skills"]] == [
        "po-assistant",
        "ba",
        "developer",
        "manual-tester",
    ]
