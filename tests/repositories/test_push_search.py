"""What a push would send is searched for known secrets, in clones of real git."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paca.common.secret_removal import SecretMask
from paca.engine.tools import push_search
from paca.engine.tools.base import ToolContext
from paca.engine.tools.push_search import Found
from paca.engine.tools.repositories import PushBranch
from paca.engine.tools.repository_commands import Push
from paca.engine.workspace import Command, CommandOutcome
from tests.repositories.test_repository_tools import Access
from tests.support.git_server import git
from tests.support.mcp_servers import HostPipes

CANARY = "canary-7f3a9c51e8d24b06"
KEY = "\n".join(f"line{number}-{'k' * 40}{number}" for number in range(6))
MASK = SecretMask((CANARY, KEY))
BASE64 = base64.b64encode(b"token=" + CANARY.encode()).decode()


class Clone:
    """A clone whose server has one commit on main, and a secret in one of its files."""

    def __init__(self, root: Path) -> None:
        self.path = str(root / "shop")
        git("init", "-q", "-b", "main", self.path)
        self.write("old.txt", f"a\n{CANARY}\nz\n")
        self.base = self.commit("Begin")
        self.git("update-ref", "refs/remotes/origin/main", self.base)

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=Rosa", "-c", "user.email=rosa@example.org")
        return git("-C", self.path, *who, *arguments)

    def write(self, name: str, text: str | bytes) -> None:
        path = Path(self.path, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def commit(self, message: str, *options: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message, *options)
        return self.git("rev-parse", "HEAD")

    def wanted(self, *, old: str = "", name: str = "") -> Push:
        head = self.git("rev-parse", "HEAD")
        return Push(name or self.path, "http://inside/", branch="fix", commit=head, old=old)

    async def search(self, mask: SecretMask = MASK, **wanted: str) -> Found:
        return await push_search.search(HostPipes(), self.wanted(**wanted), "call", mask)


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def in_a_file(clone: Clone) -> None:
    clone.write("src/config.py", f"TOKEN = '{CANARY}'\n")
    clone.commit("Configure")


def in_an_earlier_commit(clone: Clone) -> None:
    in_a_file(clone)
    clone.write("src/config.py", "TOKEN = ''\n")
    clone.commit("Clean")


def in_base64(clone: Clone) -> None:
    clone.write("notes.txt", f"+ {BASE64[:20]}\n{BASE64[20:]}\n".removeprefix("+ "))
    clone.commit("Notes")


def in_a_key_of_many_lines(clone: Clone) -> None:
    clone.write("id.pem", KEY[20:])
    clone.commit("Key")


def in_a_binary_file(clone: Clone) -> None:
    clone.write("logo.png", b"\x89PNG\0\xff" + CANARY.encode() + b"\0\xfe")
    clone.commit("Logo")


def in_a_file_that_attributes_hide(clone: Clone) -> None:
    clone.write(".gitattributes", "*.bin -diff -text\n*.txt diff=hide\n")
    clone.write("a.bin", CANARY)
    clone.git("config", "diff.hide.textconv", "true")
    clone.git("config", "diff.external", "true")
    clone.commit("Hide")


def in_a_message(clone: Clone) -> None:
    clone.commit(f"Fix\n\nwith {CANARY}")


def in_an_author(clone: Clone) -> None:
    clone.commit("Fix", f"--author={CANARY} <a@example.org>")


def in_a_name(clone: Clone) -> None:
    clone.write(f"x-{CANARY}.txt", "")
    clone.commit("Name")


def in_a_merge(clone: Clone) -> None:
    clone.git("checkout", "-q", "-b", "side")
    clone.write("side.txt", "1\n")
    clone.commit("Side")
    clone.git("checkout", "-q", "main")
    clone.write("main.txt", "1\n")
    clone.commit("Main")
    clone.git("merge", "-q", "--no-commit", "side")
    clone.write("side.txt", f"1\n{CANARY}\n")
    clone.write("main.txt", f"1\n{CANARY}\n")
    clone.commit("Merge")


HIDES: list[Callable[[Clone], None]] = [
    in_a_file,
    in_an_earlier_commit,
    in_base64,
    in_a_key_of_many_lines,
    in_a_binary_file,
    in_a_file_that_attributes_hide,
    in_a_message,
    in_an_author,
    in_a_name,
    in_a_merge,
]


@pytest.mark.anyio
@pytest.mark.parametrize("hide", HIDES, ids=lambda each: each.__name__)
async def test_secret_in_what_is_pushed_is_found(
    clone: Clone, hide: Callable[[Clone], None]
) -> None:
    hide(clone)
    found = await clone.search(old=clone.base)
    assert found.secret_in.startswith("commit ")
    assert CANARY not in found.problem
    assert "Take it out" in found.problem


@pytest.mark.anyio
async def test_place_of_the_secret_is_told(clone: Clone) -> None:
    in_a_file(clone)
    head = clone.git("rev-parse", "HEAD")[:12]
    found = await clone.search()
    assert f"commit {head} (git a/src/config.py b/src/config.py) holds a secret" in found.problem


@pytest.mark.anyio
async def test_secret_that_the_server_has_or_that_a_commit_removes_is_no_reason(
    clone: Clone,
) -> None:
    clone.write("old.txt", "b\n" + CANARY + "\nz\n")
    clone.git("mv", "old.txt", "renamed.txt")
    clone.commit("Change the lines beside it")
    assert await clone.search() == Found()
    clone.write("renamed.txt", "b\nz\n")
    clone.commit("Remove it")
    assert await clone.search() == Found()
    in_a_file(clone)
    assert await clone.search(old=clone.git("rev-parse", "HEAD")) == Found()


@pytest.mark.anyio
async def test_large_change_is_searched_at_its_beginning(
    clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_search, "MAX_SEARCHED_BYTES", 4096)
    clone.write("a.txt", "words\n" * 40_000)
    clone.commit("Grow")
    found = await clone.search()
    assert (found.secret_in, found.cut, found.problem) == ("", True, "")
    assert "searched" in found.remark


@pytest.mark.anyio
async def test_clone_that_cannot_be_searched_is_not_pushed(clone: Clone, tmp_path: Path) -> None:
    assert "cannot be searched" in (await clone.search(name=str(tmp_path / "none"))).problem


class Workspace(HostPipes):
    """The commands of the tool succeed, and its search reads the clone."""

    async def run(self, command: Command, on_output: Any = None) -> CommandOutcome:
        self.ran.append(command)
        return CommandOutcome(0, "", 0.1)


async def push(clone: Clone, monkeypatch: pytest.MonkeyPatch, *, branch: str = "fix") -> Any:
    """The tool pushes the clone's head; gives the output, and what the broker was asked to allow."""
    head = clone.git("rev-parse", "HEAD")
    access, workspace = Access("", head), Workspace()
    # The tool knows the clone by its name; here it is where the test has made it.
    monkeypatch.setattr(
        push_search, "NEW_COMMITS", f"cd {clone.path}/..\n{push_search.NEW_COMMITS}"
    )

    async def opened() -> Any:
        return workspace

    tool = PushBranch(access)
    arguments = tool.Arguments(repository="shop", branch=branch, commit=head)
    return await tool.act(arguments, ToolContext("call", opened, mask=MASK)), access.allowed


@pytest.mark.anyio
async def test_push_with_a_secret_is_refused_before_anything_is_sent(
    clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone.write("a.txt", "1\n")
    clone.commit("Fine")
    output, allowed = await push(clone, monkeypatch)
    assert (output.failed, len(allowed)) == (False, 1)
    in_a_file(clone)
    output, allowed = await push(clone, monkeypatch)
    assert (output.failed, output.cause, allowed) == (True, "refused", [])
    assert CANARY not in output.output


@pytest.mark.anyio
async def test_branch_whose_name_holds_a_secret_is_not_even_asked_for(
    clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, allowed = await push(clone, monkeypatch, branch=f"fix-{CANARY}")
    assert (output.failed, allowed) == (True, [])
    assert "holds a secret" in output.output


@pytest.mark.parametrize("parents", [1, 2, 3, 8])
def test_secret_of_many_lines_is_found_in_a_merge_of_any_number_of_branches(parents: int) -> None:
    secret = "first half\nother half"
    lines = b"".join(b"+" * parents + half.encode() + b"\n" for half in secret.split("\n"))
    removed = (b" " * (parents - 1) + b"-gone\n") + (b"-" * parents + b"gone\n")
    ats = b"@" * (parents + 1)
    hunk = ats + b" -1" * parents + b" +1,2 " + ats + b"\n"
    first, rest = lines.split(b"\n", 1)
    change = b"diff --cc f\n--- a/f\n+++ b/f\n" + hunk + first + b"\n" + removed + rest
    data = b"commit " + b"a" * 40 + b"\n\n    merge\n\n" + change
    found = push_search.find_secret(data, SecretMask([secret]))
    assert found == f"commit {'a' * 12} (cc f)"
