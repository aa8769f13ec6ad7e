"""The admin pages of skills."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from paca.accounts.models import AuditEntry, User
from paca.agents.models import Skill
from paca.agents.services import skills
from tests.agents.test_skill_archive import DOCUMENT, zipped
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db
ADD = "/admin/agents/skill/add/"
BOATS = {"name": "boats", "description": "Builds boats.", "content": "# How\n"}


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="a long password 7"))
    return client


def add(admin: Client, world: World, **data: Any) -> dict[str, list[str]]:
    """The errors of the form."""
    answer = admin.post(ADD, {"agent": world.agent.pk, "enabled": "on", **data})
    if answer.status_code == 302:
        return {}
    return dict(answer.context["adminform"].form.errors)


def test_admin_writes_changes_and_deletes_a_skill_through_the_services(
    world: World, admin: Client
) -> None:
    assert add(admin, world, **BOATS, triggers="boat, test case,") == {}
    skill = Skill.objects.get()
    assert (skill.name, skill.source, skill.triggers) == ("boats", "inline", ["boat", "test case"])
    page = f"/admin/agents/skill/{skill.pk}/"
    assert b"boat, test case" in admin.get(f"{page}change/").content
    changed = {**BOATS, "content": "New", "triggers": "boat"}
    assert admin.post(f"{page}change/", changed).status_code == 302
    skill.refresh_from_db()
    assert (skill.content, skill.triggers, skill.enabled) == ("New", ["boat"], False)
    assert b"boats" in admin.get("/admin/agents/skill/").content
    admin.post(f"{page}delete/", {"post": "yes"})
    assert not Skill.objects.exists()
    entries = AuditEntry.objects.filter(action__startswith="skill.").order_by("created_at")
    assert [(entry.action, entry.actor_name) for entry in entries] == [
        ("skill.created", "root"),
        ("skill.changed", "root"),
        ("skill.deleted", "root"),
    ]


def test_admin_takes_a_template_or_an_upload(world: World, admin: Client) -> None:
    assert add(admin, world, template="developer") == {}
    data = zipped({"SKILL.md": DOCUMENT, "plan.md": b"x"})
    assert add(admin, world, upload=SimpleUploadedFile("boats.zip", data)) == {}
    boats, developer = Skill.objects.order_by("name")
    assert (boats.name, boats.source, boats.files.get().path) == ("boats", "upload", "plan.md")
    assert (developer.source, "pr" in developer.triggers) == ("template", True)
    assert b"plan.md" in admin.get(f"/admin/agents/skill/{boats.pk}/change/").content


def test_admin_shows_errors_beside_the_fields(world: World, admin: Client) -> None:
    assert set(add(admin, world)) == {"name"}
    assert set(add(admin, world, **{**BOATS, "name": "Not good"})) == {"name"}
    assert set(add(admin, world, **BOATS, triggers="!!")) == {"triggers"}
    upload = SimpleUploadedFile("boats.zip", b"PK\x03\x04")
    assert "damaged" in str(add(admin, world, upload=upload)["upload"])
    skills.create(world.agent, by=None, **BOATS)
    assert "has a skill of this name" in str(add(admin, world, **BOATS))
    assert Skill.objects.count() == 1
