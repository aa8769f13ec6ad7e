"""Reads commits of Git repositories in the workspace: their trees and files, with plumbing that runs no hook.

The configuration of a repository belongs to the agent. It may name programs, which then run here in the sandbox as
any command does; none of the commands below asks for one.
"""

from __future__ import annotations

import os
import subprocess

from paca.sandbox.runner import WORKSPACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import namedtuple

SECONDS = 15
MAX_TREE_ENTRIES = 300_000
MAX_COMMIT_BYTES = 64
HEX = frozenset(b"0123456789abcdef")
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
BASE_BRANCHES = (
    b"refs/remotes/origin/HEAD",
    b"refs/remotes/origin/main",
    b"refs/remotes/origin/master",
    b"refs/heads/main",
    b"refs/heads/master",
)
NO_GIT = "Git is not installed in this sandbox."
NO_BASE = "This repository has no base branch."
NO_COMMIT = "The commit to compare with is not in this repository."

if TYPE_CHECKING:

    class Blob(NamedTuple):
        """A file of a commit: its mode as Git writes it, the id of its content, and its size."""

        mode: bytes
        id: bytes
        size: int

else:
    Blob = namedtuple("Blob", ("mode", "id", "size"))


class GitProblem(Exception):
    """Git cannot tell. The text is for people."""


class Repository:
    """A repository of the workspace. ``path`` is that of its folder, relative to the workspace."""

    def __init__(self, path: bytes) -> None:
        self.path = path
        self._folder = os.fsencode(WORKSPACE) + b"/" + path

    def git(self, *arguments: bytes | str, data: bytes = b"") -> bytes:
        """What a command of Git writes. Raises ``GitProblem``."""
        argv = [
            *(
                "git",
                "-c",
                "core.fsmonitor=false",
                "-c",
                "safe.directory=*",
                "-c",
                "core.pager=cat",
            ),
            "--no-pager",
            b"--git-dir=" + self._folder + b"/.git",
            *arguments,
        ]
        try:
            done = subprocess.run(  # noqa: S603 - inside the sandbox
                argv, input=data, env=ENVIRONMENT, capture_output=True, timeout=SECONDS, check=False
            )
        except FileNotFoundError:
            raise GitProblem(NO_GIT) from None
        except subprocess.TimeoutExpired:
            raise GitProblem("Git took too long.") from None
        if done.returncode:
            raise GitProblem(done.stderr.decode("utf-8", "replace").strip()[:300] or "Git failed.")
        return done.stdout

    def commit(self, name: bytes) -> bytes:
        """The id of the commit of this name. Raises ``GitProblem``."""
        found = self.git(
            "rev-parse", "--verify", "--quiet", "--end-of-options", name + b"^{commit}"
        )
        return _commit_id(found.strip())

    def start(self, given: str) -> bytes | None:
        """The commit that the work began with: the ``given`` one, else the one that was cloned.

        None if the repository was made here, so that all its files are new. Raises ``GitProblem``.
        """
        if given:
            try:
                return self.commit(given.encode())
            except GitProblem as problem:
                raise GitProblem(NO_GIT if str(problem) == NO_GIT else NO_COMMIT) from None
        return self._cloned()

    def _cloned(self) -> bytes | None:
        try:
            with open(self._folder + b"/.git/logs/HEAD", "rb") as log:  # noqa: PTH123 - bytes
                first = log.readline(4096)
        except OSError:
            return None
        facts, _, message = first.partition(b"\t")
        if not message.startswith(b"clone:"):
            return None
        return self.commit(facts.split(b" ")[1])

    def branch_base(self) -> tuple[bytes, str]:
        """The commit at which the work left the base branch, and that branch. Raises ``GitProblem``."""
        for name in BASE_BRANCHES:
            try:
                base = self.commit(name)
            except GitProblem as problem:
                if str(problem) == NO_GIT:
                    raise
                continue
            found = self.git("merge-base", "HEAD", base)
            shown = name.removeprefix(b"refs/remotes/").removeprefix(b"refs/heads/")
            return _commit_id(found.strip()), shown.decode()
        raise GitProblem(NO_BASE)

    def branch(self) -> str:
        """The branch that is checked out; empty for none."""
        try:
            name = self.git("symbolic-ref", "--short", "--quiet", "HEAD")
        except GitProblem:
            return ""
        return name.strip().decode("utf-8", "replace")

    def tree(self, commit: bytes) -> dict[bytes, Blob]:
        """The files of a commit by their paths in the repository. Raises ``GitProblem``."""
        listed = self.git("ls-tree", "-r", "-z", "-l", "--full-tree", commit)
        found = {}
        for line in listed.split(b"\0"):
            facts, _, path = line.partition(b"\t")
            fields = facts.split()
            if len(fields) == 4 and fields[1] == b"blob":
                found[path] = Blob(fields[0], fields[2], int(fields[3]))
            if len(found) > MAX_TREE_ENTRIES:
                raise GitProblem("This repository has too many files to compare.")
        return found

    def content(self, blob: Blob) -> bytes:
        """The content of a file of a commit. Raises ``GitProblem``."""
        return self.git("cat-file", "blob", blob.id)


def _commit_id(found: bytes) -> bytes:
    if not found or len(found) > MAX_COMMIT_BYTES or not HEX.issuperset(found):
        raise GitProblem(NO_COMMIT)
    return found


def is_repository(folder: int) -> bool:
    """Whether an open folder is that of a repository."""
    try:
        os.stat(b".git", dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
