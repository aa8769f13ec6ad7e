"""What a person sees of a repository before taking skills, and what is refused."""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from paca.agents.models import Skill
from paca.repositories.broker import host_git
from paca.repositories.skill_sources import fetching, reading
from tests.repositories.skill_sources.actions import (
    BOATS,
    PLAN,
    SAILS,
    look,
    path,
    refusal,
)
from tests.support.api import Api
from tests.support.git_server import HEADER, TOKEN, GitServer, git
from tests.support.repositories import make_connection, make_repository
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db
ZEROS = "0" * 40

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


def test_look_warns_of_hidden_characters_that_the_front_matter_escapes(
    world: World, api: Api, server: GitServer
) -> None:
    def document(name: str, said: str) -> bytes:
        return f'---\nname: {name}\ndescription: "{said}"\n---\nText.\n'.encode()

    server.commit(
        "kit",
        {
            "skills/boats/SKILL.md": document("boats", r"Good\U000E0041\u3164"),
            "skills/half/SKILL.md": document("half", r"a\uD800b"),
            "skills/nul/SKILL.md": document("nul", r"a\0b"),
        },
    )
    found = {each["name"]: each for each in look(api, world, server.url("kit"))["skills"]}
    assert "U+E0041, U+3164" in found["boats"]["warnings"][0]
    assert found["half"]["problem"]
    assert found["nul"]["problem"]


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


def test_few_requests_wait_for_a_repository(
    world: World, api: Api, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = threading.BoundedSemaphore(1)
    monkeypatch.setattr(fetching, "_PLACES", places)
    assert places.acquire()
    assert refusal(api, world, server.url("kit"))[:2] == (503, "skill_source_busy")
    places.release()
    assert look(api, world, server.url("kit"))["skills"]


def test_git_that_resolves_names_anew_is_not_used(
    world: World, api: Api, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_git, "OLDEST_GIT", (99, 0))
    status, code, said = refusal(api, world, server.url("kit"))
    assert (status, code) == (409, "git_server_failed")
    assert "99.0 is needed" in said
    assert not [path for method, path, _ in server.requests if method == "POST"]


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
