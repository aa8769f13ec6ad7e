"""Reads files of one commit of a repository: a shallow copy in a folder that is gone afterwards.

Git runs on the host as for mirrors: without hooks, submodules, LFS, redirects and prompts, to checked addresses only,
bounded in time, bytes and memory. Nothing is checked out.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from paca.agents.skill_archive import MAX_FILE_BYTES
from paca.common import disk_space
from paca.common.errors import Conflict, Invalid, PacaError
from paca.repositories.broker.host_git import GitFailed, GitUnusable, HostGit, TooMuchOutput
from paca.repositories.broker.routes import Route
from paca.repositories.broker.upstream import (
    Answer,
    Question,
    ServerProblem,
    ask,
    checked_address,
    moved_to,
)
from paca.repositories.hosts.errors import (
    GitServerFailed,
    GitServerRefused,
    GitServerUnreachable,
    RepositoryMissing,
)
from paca.repositories.skill_sources.address import COMMIT, SkillSource

FETCH_SECONDS, LOCAL_SECONDS = 45.0, 15.0
MAX_COPY_BYTES, MAX_TREE_BYTES, MAX_GIT_MEMORY = 64 << 20, 8 << 20, 1 << 30
FOLDER, REF = "skill-sources", "refs/paca/source"
LEFT_SECONDS = 600.0
ADVERTISEMENT = "application/x-git-upload-pack-advertisement"
# Each fetch occupies the slot of a request for as long as the server takes.
_SLOTS = threading.BoundedSemaphore(2)
# Those that read, and those that wait for a slot.
_PLACES = threading.BoundedSemaphore(4)
QUEUE_TIMEOUT_SECONDS = 5.0
LINK_IT = "If it is private, link it under Repositories with a connection first: its credentials are then used here"


class SkillSourceTooLarge(Conflict):
    """The repository is too large to read skills from. Take a smaller one, or upload a zip of the skill's folder."""

    code = "skill_source_too_large"


class SkillSourceBusy(PacaError):
    """Other repositories are being read. Try again in a minute."""

    code = "skill_source_busy"
    status = 503


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file of the commit. ``size`` is None if it was too large to be fetched."""

    path: str
    mode: str
    object_id: str
    size: int | None

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file, and no link or submodule."""
        return self.mode in ("100644", "100755")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A commit: its full id, all its files, and the data of those that were asked for, by path."""

    commit: str
    entries: tuple[TreeEntry, ...]
    data: dict[str, bytes]


Choose = Callable[[Sequence[TreeEntry]], Sequence[TreeEntry]]


def read(source: SkillSource, route: Route, choose: Choose) -> Snapshot:
    """Fetch the commit of a source and read the files that ``choose`` picks. It blocks, for a minute at most.

    Raises ``Invalid`` if there is no such branch or commit, ``SkillSourceTooLarge``, ``SkillSourceBusy``, and the errors
    of ``hosts.errors``.
    """
    # guard: skill-sources-leave-threads-for-pages
    if not _PLACES.acquire(blocking=False):
        raise SkillSourceBusy
    try:
        if not _SLOTS.acquire(timeout=QUEUE_TIMEOUT_SECONDS):
            raise SkillSourceBusy
        try:
            return _read_copy(source, route, choose)
        finally:
            _SLOTS.release()
    finally:
        _PLACES.release()


def _read_copy(source: SkillSource, route: Route, choose: Choose) -> Snapshot:
    root = settings.PACA_DATA_DIR.resolve() / FOLDER
    disk_space.require_space(settings.PACA_DATA_DIR)
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    remove_left()
    with tempfile.TemporaryDirectory(dir=root, ignore_cleanup_errors=True) as folder:
        return asyncio.run(_read(source, route, choose, Path(folder)))


def remove_left() -> None:
    """Remove the copies that killed processes have left."""
    before = time.time() - LEFT_SECONDS
    for path in (settings.PACA_DATA_DIR / FOLDER).glob("*"):
        with suppress(OSError):
            # guard: copy-in-use-stays
            if path.stat().st_mtime < before:
                shutil.rmtree(path, ignore_errors=True)


async def _read(source: SkillSource, route: Route, choose: Choose, folder: Path) -> Snapshot:
    git = HostGit(MAX_COPY_BYTES, max_memory=MAX_GIT_MEMORY)
    try:
        async with asyncio.timeout(FETCH_SECONDS):
            await _check_server(source, route)
            commit = await _fetch(git, source, route, folder)
    except TimeoutError:
        raise GitServerUnreachable(
            f"{source.host} did not send the repository within {FETCH_SECONDS:g} s. Try again later, or take a"
            " smaller repository."
        ) from None
    except ServerProblem as problem:
        raise GitServerUnreachable(str(problem)) from None
    try:
        entries = await _entries(git, folder, commit)
        chosen = [each for each in choose(entries) if each.is_file and each.size is not None]
        return Snapshot(commit, tuple(entries), await _data(git, folder, chosen))
    except (GitFailed, TimeoutError) as error:
        raise GitServerFailed(
            f"What {source.host} sent cannot be read as a repository: {str(error)[-200:] or 'it takes too long'}."
        ) from None


async def _check_server(source: SkillSource, route: Route) -> None:
    """Ask for the list of branches once, for words on what is wrong: git's own name no next step."""
    answer = await ask(route, Question("GET", "info/refs?service=git-upload-pack"))
    answer.close()
    error = _error(source, route, answer)
    if error is not None:
        raise error


def _error(source: SkillSource, route: Route, answer: Answer) -> PacaError | None:
    host = source.host
    media_type = (answer.header("content-type") or "").partition(";")[0].strip()
    match answer.status:
        case 200 if media_type == ADVERTISEMENT:
            return None
        case 301 | 302 | 303 | 307 | 308:
            return GitServerFailed(
                f"{host} says that the repository is at {moved_to(answer)} now. If you trust that, use it as the address."
            )
        case 401 | 403 if route.header:
            return GitServerRefused(
                f"{host} refuses the credentials of {route.name}. Renew its connection under Repositories."
            )
        case 401 | 403:
            return GitServerRefused(
                f"{host} shows no repository at this address without credentials. Check the address. {LINK_IT}."
            )
        case 404:
            return RepositoryMissing(
                f"{host} has no repository at this address. Check it. {LINK_IT}."
            )
        case 200:
            return GitServerFailed(
                f"{host} answers, but with no git repository. Write the address that git clone takes."
            )
    return GitServerFailed(f"{host} answered with {answer.status}. Try again later.")


async def _fetch(git: HostGit, source: SkillSource, route: Route, folder: Path) -> str:
    """Copy the commit without its history and without large files; gives its id."""
    size = f"blob:limit={MAX_FILE_BYTES + 1}"
    # Git stores none of this then: what it reads later fetches nothing.
    remote = (
        f"remote.source.url={route.url}",
        "remote.source.promisor=true",
        f"remote.source.partialclonefilter={size}",
    )
    try:
        await git.run(
            "init", "--quiet", "--bare", "--template=", str(folder), seconds=LOCAL_SECONDS
        )
        await git.run(
            *(part for value in remote for part in ("-c", value)),
            *(f"--git-dir={folder}", "fetch", "--quiet", "--depth=1", "--no-tags"),
            *("--no-write-fetch-head", "--no-auto-maintenance"),
            *(f"--filter={size}", "source"),
            f"{source.ref or 'HEAD'}:{REF}",
            route=route,
            addresses=await checked_address(route),
            seconds=FETCH_SECONDS,
        )
        commit = await git.run(
            f"--git-dir={folder}",
            "rev-parse",
            "--verify",
            f"{REF}^{{commit}}",
            seconds=LOCAL_SECONDS,
        )
    except GitUnusable as problem:
        raise GitServerFailed(str(problem)) from None
    except GitFailed as failed:
        raise _fetch_error(source, folder, str(failed)) from None
    return commit.strip()


def _fetch_error(source: SkillSource, folder: Path, said: str) -> PacaError:
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    if max(sizes, default=0) >= MAX_COPY_BYTES:
        return SkillSourceTooLarge(
            f"The repository has more than {MAX_COPY_BYTES >> 20} MiB at this commit. Take a smaller one, or upload a"
            " zip of the skill's folder."
        )
    if any(words in said for words in ("remote ref", "not our ref", "unadvertised object")):
        what = "commit" if COMMIT.match(source.ref) else "branch or tag"
        named = f"{what} {source.ref}" if source.ref else "commit yet"
        return Invalid(fields={"ref": [f"The repository has no {named}."]})
    if f"{REF}^" in said or "Needed a single revision" in said:
        return Invalid(fields={"ref": ["This is no commit."]})
    return GitServerFailed(f"git could not read the repository of {source.host}: {said[-300:]}")


async def _entries(git: HostGit, folder: Path, commit: str) -> list[TreeEntry]:
    """All files of the commit. A few bytes can be a tree of billions: what is printed is bounded."""
    try:
        printed = await git.read(
            *(f"--git-dir={folder}", "ls-tree", "-r", "-z", "-l", "--full-tree", commit),
            max_output=MAX_TREE_BYTES,
            seconds=LOCAL_SECONDS,
        )
    except TooMuchOutput:
        raise SkillSourceTooLarge(
            "The repository has too many files. Take a smaller one."
        ) from None
    found = []
    for line in printed.decode("utf-8", "replace").split("\0"):
        facts, _, path = line.partition("\t")
        if path:
            mode, _, object_id, size = facts.split()
            found.append(TreeEntry(path, mode, object_id, int(size) if size.isdigit() else None))
    return found


async def _data(git: HostGit, folder: Path, entries: Sequence[TreeEntry]) -> dict[str, bytes]:
    given = "".join(f"{each.object_id}\n" for each in entries).encode()
    expected = sum((each.size or 0) + 128 for each in entries)
    printed = await git.read(
        *(f"--git-dir={folder}", "cat-file", "--batch"),
        given=given,
        max_output=expected,
        seconds=LOCAL_SECONDS,
    )
    found, at = {}, 0
    for each in entries:
        begin = printed.index(b"\n", at) + 1
        end = begin + int(printed[at:begin].split()[2])
        found[each.path], at = printed[begin:end], end + 1
    return found
