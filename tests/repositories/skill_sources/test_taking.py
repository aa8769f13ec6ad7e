"""Skills that were taken stay at their commit until a person takes another one."""

import threading
from typing import Any

import pytest
from django.db import connection

from paca.accounts.models import AuditEntry
from paca.agents.models import Skill, SkillFile
from paca.projects.services import members
from paca.repositories.skill_sources import looking
from tests.repositories.skill_sources.actions import BOATS, PLAN, SAILS, look, path, take, taken
from tests.support.api import Api
from tests.support.git_server import GitServer, git
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


# --- taking --------------------------------------------------------------------------------------


def test_taken_skill_remembers_its_commit_and_stays_when_the_branch_moves(
    world: World, api: Api, server: GitServer
) -> None:
    found = look(api, world, server.url("kit"))
    server.commit("kit", {"skills/boats/SKILL.md": BOATS + b"Evil.\n"})
    answer = take(api, world, found, "skills/boats", "skills/sails")
    assert answer.status_code == 201, answer.content
    boats = api.get(path(world, answer.json()[0]["id"])).json()
    assert (boats["source"], boats["content"]) == ("git", "How to build boats.\n")
    assert boats["git"] == {
        "url": server.url("kit"),
        "ref": "",
        "folder": "skills/boats",
        "commit": found["commit"],
    }
    files = {each.path: bytes(each.data) for each in SkillFile.objects.all()}
    assert files == {"plan.md": PLAN, "build.py": b"print('boat')\n"}
    entry = AuditEntry.objects.filter(action="skill.created").latest("created_at", "pk")
    assert entry.facts["git_commit"] == found["commit"]
    assert look(api, world, server.url("kit"))["skills"][0]["taken"] is True


def test_import_takes_all_chosen_skills_or_none(world: World, api: Api, server: GitServer) -> None:
    server.commit("kit", {"skills/bad/SKILL.md": b"no front matter"})
    found = look(api, world, server.url("kit"))
    refused = take(api, world, found, "skills/boats", "skills/bad")
    assert "no front matter" in refused.json()["fields"]["folders"][0]
    gone = take(api, world, found, "skills/boats", "skills/none")
    assert (gone.status_code, gone.json()["code"]) == (409, "no_skill_found")
    assert take(api, world, found, "skills/sails").status_code == 201
    twice = take(api, world, found, "skills/boats", "skills/sails")
    assert twice.status_code == 400
    assert "has a skill of this name" in str(twice.json()["fields"])
    assert [each.name for each in Skill.objects.all()] == ["sails"]


def test_repeated_import_asks_no_server_and_adds_nothing(
    world: World, api: Api, server: GitServer
) -> None:
    found = look(api, world, server.url("kit"))
    first = take(api, world, found, "skills/boats", Idempotency_Key="one")
    asked = len(server.requests)
    again = take(api, world, found, "skills/boats", Idempotency_Key="one")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert len(server.requests) == asked
    other = take(api, world, found, "skills/sails", Idempotency_Key="one")
    assert other.json()["code"] == "idempotency_key_reused"


def test_branch_or_tag_with_the_name_of_a_commit_is_not_taken(
    world: World, api: Api, server: GitServer
) -> None:
    found, kit = look(api, world, server.url("kit")), str(server.root / "kit.git")
    git("-C", kit, "branch", "f" * 64, "main")
    git("-C", kit, "tag", "-a", "-m", "x", "v1", "main")
    for name in ("f" * 64, git("-C", kit, "rev-parse", "v1").strip()):
        refused = take(api, world, {**found, "commit": name}, "skills/boats")
        assert (refused.status_code, [*refused.json()["fields"]]) == (400, ["commit"])
    assert not Skill.objects.exists()


def test_each_request_checks_project_and_permission(
    world: World, api: Api, server: GitServer
) -> None:
    skill = taken(api, world, server)
    source = {
        "url": server.url("kit"),
        "commit": skill["git"]["commit"],
        "folders": ["skills/sails"],
    }
    bodies = {
        path(world, "git", "look"): {"url": server.url("kit")},
        path(world, "git", "import"): source,
        path(world, skill["id"], "check"): {},
        path(world, skill["id"], "update"): {"commit": skill["git"]["commit"]},
    }
    other = make_world("Other")
    asked = len(server.requests)
    for address, body in bodies.items():
        assert Api(other.user).post(address, body).status_code == 404
        foreign = address.replace(str(world.project.pk), str(other.project.pk))
        assert Api(other.user).post(foreign, body).status_code == 404
    members.add_person(world.project, user=other.user, role=world.role("Viewer"), by=world.owner)
    for address, body in bodies.items():
        assert Api(other.user).post(address, body).status_code == 403
    assert len(server.requests) == asked


@pytest.mark.django_db(transaction=True)
def test_imports_of_the_same_skill_at_once_make_one(
    world: World, api: Api, server: GitServer
) -> None:
    found = look(api, world, server.url("kit"))
    start, answers = threading.Barrier(2), list[int]()

    def send() -> None:
        client = Api(world.user)
        start.wait()
        try:
            answers.append(take(client, world, found, "skills/boats").status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [201, 400]
    assert Skill.objects.count() == 1
    assert SkillFile.objects.count() == 2


# --- updates -------------------------------------------------------------------------------------


def test_check_shows_what_has_changed_and_an_update_takes_it(
    world: World, api: Api, server: GitServer
) -> None:
    skill = taken(api, world, server)
    assert check(api, world, skill)["moved"] is False
    new = server.commit(
        "kit",
        {
            "skills/boats/SKILL.md": BOATS.replace(b"How", b"Where"),
            "skills/boats/new.md": b"new\n",
        },
    )
    checked = check(api, world, skill)
    assert (checked["commit"], checked["moved"]) == (new, True)
    changes = {each["path"]: each for each in checked["changes"]}
    assert "-How to build boats.\n+Where to build boats.\n" in changes["SKILL.md"]["diff"]
    assert (changes["new.md"]["change"], len(changes)) == ("added", 2)
    assert api.get(path(world, skill["id"])).json() == skill

    address = path(world, skill["id"], "update")
    updated = api.post(address, {"commit": new}, If_Match=skill["updated_at"])
    assert updated.status_code == 200, updated.content
    assert updated.json()["git"]["commit"] == new
    assert updated.json()["content"] == "Where to build boats.\n"
    assert [each["path"] for each in updated.json()["files"]] == ["build.py", "new.md", "plan.md"]
    entry = AuditEntry.objects.get(action="skill.updated")
    assert (entry.facts["from"], entry.facts["to"]) == (skill["git"]["commit"], new)
    stale = api.post(address, {"commit": new}, If_Match=skill["updated_at"])
    assert stale.status_code == 412
    assert check(api, world, skill)["changes"] == []


def check(api: Api, world: World, skill: dict[str, Any]) -> Any:
    answer = api.post(path(world, skill["id"], "check"))
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_update_keeps_name_settings_and_own_keywords(
    world: World, api: Api, server: GitServer
) -> None:
    skill = taken(api, world, server, "skills/sails")
    api.patch(path(world, skill["id"]), {"triggers": ["rig"], "enabled": False})
    new = server.commit(
        "kit", {"skills/sails/SKILL.md": SAILS.replace(b"name: sails", b"name: rigs")}
    )
    updated = api.post(path(world, skill["id"], "update"), {"commit": new}).json()
    assert (updated["name"], updated["triggers"], updated["enabled"]) == ("sails", ["rig"], False)


def test_check_shows_what_an_update_would_undo(world: World, api: Api, server: GitServer) -> None:
    skill = taken(api, world, server)
    api.patch(path(world, skill["id"]), {"content": "Mine.\n"})
    checked = check(api, world, skill)
    assert checked["moved"] is False
    assert "-Mine." in checked["changes"][0]["diff"]


def test_comparison_of_many_files_is_bounded(
    world: World, api: Api, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    skill = taken(api, world, server)
    server.commit("kit", {"skills/boats/plan.md": b"mast\n"})
    assert check(api, world, skill)["changes"][0]["diff"]
    monkeypatch.setattr(looking, "COMPARE_SECONDS", 0.0)
    assert check(api, world, skill)["changes"] == [
        {"path": "plan.md", "change": "changed", "diff": None}
    ]


def test_keywords_that_differ_in_letter_case_only_are_no_change(
    world: World, api: Api, server: GitServer
) -> None:
    server.commit("kit", {"skills/boats/SKILL.md": BOATS.replace(b": boat\n", b": boat, Boat\n")})
    assert check(api, world, taken(api, world, server))["changes"] == []


def test_skill_that_is_gone_or_not_from_git_has_no_update(
    world: World, api: Api, server: GitServer
) -> None:
    skill = taken(api, world, server)
    own = api.post(path(world), {"template": "developer"}).json()
    refused = api.post(path(world, own["id"], "check"))
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        "This skill is not from git, so it has no updates.",
    )
    git("-C", str(server.root / "kit.work"), "rm", "-q", "-r", "skills/boats")
    server.commit("kit", {})
    gone = api.post(path(world, skill["id"], "check"))
    assert gone.json()["code"] == "no_skill_found"
    assert "moved or deleted" in gone.json()["detail"]
