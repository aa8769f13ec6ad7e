"""Skills from git: what a person sees, what is taken and stays at its commit, and what is refused."""

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.http import HttpResponse

from paca.accounts.models import AuditEntry
from paca.agents.models import Skill, SkillFile
from paca.repositories.skill_sources import fetching, reading
from tests.support.api import Api
from tests.support.git_server import HEADER, TOKEN, GitServer, git
from tests.support.repositories import make_connection, make_repository
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db
BOATS = b"---\nname: boats\ndescription: Builds boats.\ntriggers: boat\n---\nHow to build boats.\n"
SAILS = b"---\nname: sails\ndescription: Sews sails.\n---\nSew with care.\n"
PLAN = b"keel\nhull\n"
ZEROS = "0" * 40


@pytest.fixture
def world() -> World:
    cache.clear()
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


@pytest.fixture
def server(tmp_path: Path, settings: Any) -> Iterator[GitServer]:
    """A public repository ``kit`` with two skills."""
    settings.PACA_DATA_DIR = tmp_path / "data"
    settings.PACA_DATA_DIR.mkdir()
    with GitServer(tmp_path / "git", header="") as found:
        settings.PRIVATE_GIT_SERVERS = [f"127.0.0.1:{found.port}"]
        found.create(
            "kit",
            {
                "README.md": b"A kit.\n",
                "skills/boats/SKILL.md": BOATS,
                "skills/boats/plan.md": PLAN,
                "skills/boats/build.py": b"print('boat')\n",
                "skills/sails/SKILL.md": SAILS,
            },
        )
        yield found
        assert list((settings.PACA_DATA_DIR / fetching.FOLDER).glob("*")) == []


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


# --- looking -------------------------------------------------------------------------------------


def test_look_shows_each_skill_whole_and_stores_nothing(
    world: World, api: Api, server: GitServer
) -> None:
    found = look(api, world, server.url("kit"))
    assert found["commit"] == server.refs("kit")["refs/heads/main"]
    boats, sails = found["skills"]
    assert (boats["folder"], boats["name"], boats["triggers"]) == (
        "skills/boats",
        "boats",
        ["boat"],
    )
    assert (boats["description"], boats["content"]) == ("Builds boats.", "How to build boats.\n")
    assert [(each["path"], each["text"]) for each in boats["files"]] == [
        ("build.py", "print('boat')\n"),
        ("plan.md", PLAN.decode()),
    ]
    assert boats["warnings"] == ["Programs that the agent can run in its sandbox: build.py."]
    assert (sails["name"], sails["problem"], sails["taken"]) == ("sails", "", False)
    assert not Skill.objects.exists()


def test_look_takes_a_branch_a_tag_a_commit_and_the_address_of_a_page(
    world: World, api: Api, server: GitServer
) -> None:
    first = server.refs("kit")["refs/heads/main"]
    second = server.commit("kit", {"skills/boats/SKILL.md": BOATS + b"More.\n"}, branch="next")
    git("-C", str(server.root / "kit.git"), "tag", "v1", first)
    for ref, commit in (("next", second), ("v1", first), (first, first), (second, second)):
        found = look(api, world, server.url("kit"), ref=ref, folder="/skills/boats/")
        assert (found["commit"], [each["name"] for each in found["skills"]]) == (commit, ["boats"])
    (server.root / "team").mkdir()
    (server.root / "team" / "kit").symlink_to(server.root / "kit.git")
    page = f"{server.address}/team/kit/tree/next/skills/sails"
    found = look(api, world, page)
    assert (found["url"], found["ref"]) == (f"{server.address}/team/kit", "next")
    assert [each["folder"] for each in found["skills"]] == ["skills/sails"]


def test_look_says_what_is_wrong_with_a_skill_and_shows_the_others(
    world: World, api: Api, server: GitServer
) -> None:
    server.commit(
        "kit",
        {
            "skills/bad/SKILL.md": b"no front matter",
            "skills/named/SKILL.md": BOATS.replace(b"name: boats", b"name: My Boats"),
            "skills/large/SKILL.md": BOATS,
            "skills/large/picture.png": os.urandom((1 << 20) + 1),
            "skills/many/SKILL.md": BOATS,
            **{f"skills/many/{number}": b"%d" % number for number in range(101)},
        },
    )
    found = {each["folder"]: each for each in look(api, world, server.url("kit"))["skills"]}
    problems = {folder: each["problem"] for folder, each in found.items() if each["problem"]}
    assert "no front matter" in problems.pop("skills/bad")
    assert problems.pop("skills/named").startswith("name: Use small letters")
    assert "picture.png is larger than 1 MiB" in problems.pop("skills/large")
    assert problems.pop("skills/many") == "The folder has more than 100 files."
    assert problems == {}
    assert found["skills/bad"]["content"] == "no front matter"


def test_look_warns_of_hidden_characters_links_and_pointers(
    world: World, api: Api, server: GitServer
) -> None:
    work = server.root / "kit.work" / "skills" / "boats"
    (work / "secrets").symlink_to("/etc/passwd")
    server.commit(
        "kit",
        {
            "skills/boats/SKILL.md": BOATS + "Good\u200bbye\U000e0041.\n".encode(),
            "skills/boats/model.bin": b"version https://git-lfs.github.com/spec/v1\noid x\n",
        },
    )
    [boats, _] = look(api, world, server.url("kit"))["skills"]
    said = " ".join(boats["warnings"])
    assert "U+200B, U+E0041" in said
    assert "only a pointer comes along: model.bin" in said
    assert "Links and submodules are left out: secrets" in said
    assert "secrets" not in [each["path"] for each in boats["files"]]


def test_skill_in_the_folder_of_another_has_its_own_files(
    world: World, api: Api, server: GitServer
) -> None:
    server.commit("kit", {"SKILL.md": SAILS.replace(b"sails", b"all"), ".gitignore": b"x"})
    found = {each["folder"]: each for each in look(api, world, server.url("kit"))["skills"]}
    assert [each["path"] for each in found[""]["files"]] == ["README.md"]
    assert len(found["skills/boats"]["files"]) == 2


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"url": "http://git.example.org/team/app"}, "url"),
        ({"url": "file:///etc"}, "url"),
        ({"url": "ext::sh -c id"}, "url"),
        ({"url": "git@github.com:team/app.git"}, "url"),
        ({"url": "https://ada:word@git.example.org/team/app"}, "url"),
        ({"url": "https://git.example.org/a/../b"}, "url"),
        ({"url": "https://[x/team/app"}, "url"),
        ({"url": "https://git.example.org/t/a", "ref": "--upload-pack=id"}, "ref"),
        ({"url": "https://git.example.org/t/a", "ref": "main:refs/heads/x"}, "ref"),
        ({"url": "https://git.example.org/t/a", "ref": "+main"}, "ref"),
        ({"url": "https://git.example.org/t/a", "folder": "../x"}, "folder"),
    ],
)
def test_address_that_is_no_repository_by_https_is_refused(
    world: World, api: Api, given: dict[str, str], field: str
) -> None:
    answer = api.post(path(world, "git", "look"), given)
    assert (answer.status_code, [*answer.json()["fields"]]) == (400, [field])


def test_server_in_a_private_network_is_not_asked(
    world: World, api: Api, server: GitServer, settings: Any
) -> None:
    settings.PRIVATE_GIT_SERVERS = []
    for url in (
        f"https://127.0.0.1:{server.port}/kit.git",
        "https://169.254.169.254/latest/meta-data",
        f"https://[::1]:{server.port}/kit.git",
    ):
        status, code, said = refusal(api, world, url)
        assert (status, code) == (409, "git_server_unreachable")
        assert "PRIVATE_GIT_SERVERS=" in said
    assert server.requests == []


def test_redirect_is_told_and_not_followed(world: World, api: Api, server: GitServer) -> None:
    with GitServer(server.root, header="") as other:
        server.redirect = other.address
        status, code, said = refusal(api, world, server.url("kit"))
        assert (status, code) == (409, "git_server_failed")
        assert "at http://127.0.0.1/kit.git now" in said
        assert other.requests == []


def test_what_is_not_there_is_named(world: World, api: Api, server: GitServer) -> None:
    kit = server.url("kit")
    assert "has no repository at this address" in refusal(api, world, server.url("none"))[2]
    assert refusal(api, world, kit, ref="none") == (
        400,
        "invalid",
        "The repository has no branch or tag none.",
    )
    assert f"no commit {ZEROS}" in refusal(api, world, kit, ref=ZEROS)[2]
    assert "no such folder" in refusal(api, world, kit, folder="none")[2]
    server.create("plain")
    assert refusal(api, world, server.url("plain"))[:2] == (409, "no_skill_found")


def test_repository_that_is_too_large_or_has_too_many_files_is_refused(
    world: World, api: Api, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "MAX_TREE_BYTES", 200)
    assert refusal(api, world, server.url("kit"))[:2] == (409, "skill_source_too_large")
    server.commit("kit", {f"{number}": os.urandom(500_000) for number in range(3)})
    monkeypatch.setattr(fetching, "MAX_COPY_BYTES", 1_000_000)
    status, code, said = refusal(api, world, server.url("kit"))
    assert (status, code) == (409, "skill_source_too_large")
    assert "upload a zip" in said


def test_server_that_does_not_answer_in_time_is_left(
    world: World, api: Api, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "FETCH_SECONDS", 0.0)
    status, code, said = refusal(api, world, server.url("kit"))
    assert (status, code) == (409, "git_server_unreachable")
    assert "did not send the repository within" in said


def test_two_repositories_are_read_at_once_and_a_third_request_is_told_to_wait(
    world: World, api: Api, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "QUEUE_TIMEOUT_SECONDS", 0.0)
    monkeypatch.setattr(fetching, "_SLOTS", threading.BoundedSemaphore(1))
    assert fetching._SLOTS.acquire()
    assert refusal(api, world, server.url("kit"))[:2] == (503, "skill_source_busy")
    fetching._SLOTS.release()
    assert look(api, world, server.url("kit"))["skills"]


def test_copy_of_a_killed_process_is_removed_and_one_in_use_stays(
    settings: Any, tmp_path: Path
) -> None:
    settings.PACA_DATA_DIR = tmp_path
    left, used = (tmp_path / fetching.FOLDER / name for name in ("left", "used"))
    for folder in (left, used):
        folder.mkdir(parents=True)
    os.utime(left, (time.time() - fetching.LEFT_SECONDS - 1,) * 2)
    fetching.remove_left()
    assert [used.exists(), left.exists()] == [True, False]


# --- private repositories ------------------------------------------------------------------------


def test_private_repository_is_read_with_the_credentials_of_the_project(
    world: World, api: Api, server: GitServer
) -> None:
    server.header = HEADER
    status, code, said = refusal(api, world, server.url("kit"))
    assert (status, code) == (409, "git_server_refused")
    assert "link it under Repositories" in said
    connection = make_connection(
        world.project, kind="git", base_url=server.address, secret=TOKEN, username="git"
    )
    make_repository(world.project, "kit", connection=connection, url=server.url("kit"))
    found = look(api, world, server.url("kit").removesuffix(".git") + ".git")
    assert len(found["skills"]) == 2
    assert TOKEN not in str(found)
    other = make_world("Other")
    assert refusal(Api(other.user), other, server.url("kit"))[1] == "git_server_refused"


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


# --- marketplaces --------------------------------------------------------------------------------


def test_marketplace_lists_its_plugins_with_their_skills(
    world: World, api: Api, server: GitServer
) -> None:
    listed = {
        "name": "harbor",
        "owner": {"name": "Ada"},
        "metadata": {"pluginRoot": "./skills"},
        "plugins": [
            {"name": "building", "source": "./", "description": "B", "skills": ["./skills/boats"]},
            {"name": "sewing", "source": "sails"},
            {"name": "far", "source": {"source": "github", "repo": "team/far", "ref": "v2"}},
            {
                "name": "deep",
                "source": {"source": "git-subdir", "url": "https://g.example/a/b", "path": "x/y"},
            },
            {"name": "npm", "source": {"source": "npm", "package": "x"}},
            {"name": "out", "source": "../../etc"},
            {"name": "local", "source": {"source": "url", "url": "file:///etc"}},
            {"name": "odd", "source": {"source": "github", "repo": "a/b", "ref": "\ud800"}},
            "nonsense",
        ],
    }
    server.commit("kit", {".claude-plugin/marketplace.json": json.dumps(listed).encode()})
    found = look(api, world, server.url("kit"))["marketplace"]
    plugins = {each["name"]: each for each in found["plugins"]}
    assert (found["name"], found["problem"]) == ("harbor", "")
    assert plugins["building"]["folders"] == ["skills/boats"]
    assert plugins["sewing"]["folders"] == ["skills/sails"]
    far = {"url": "https://github.com/team/far", "ref": "v2", "folder": ""}
    assert plugins["far"]["elsewhere"] == far
    assert plugins["deep"]["elsewhere"]["folder"] == "x/y"
    problems = [name for name, each in plugins.items() if each["problem"]]
    assert problems == ["npm", "out", "local", "odd"]


@pytest.mark.parametrize("text", [b"{", b"[1]", b'{"plugins": 1}', b"\xff", b"[" * 100_000])
def test_marketplace_that_cannot_be_read_leaves_the_skills(
    world: World, api: Api, server: GitServer, text: bytes
) -> None:
    server.commit("kit", {"marketplace.json": text})
    found = look(api, world, server.url("kit"))
    assert found["marketplace"]["problem"]
    assert len(found["skills"]) == 2


def test_only_as_much_is_read_as_is_bounded(
    world: World, api: Api, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_READ_BYTES", len(BOATS) + len(SAILS))
    boats, sails = look(api, world, server.url("kit"))["skills"]
    assert "Name the folder" in boats["problem"]
    assert sails["problem"] == ""
