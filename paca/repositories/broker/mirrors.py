"""The mirrors of this machine: bare copies of repositories, one for each address and credential.

A mirror is filled beside its name and appears whole by a rename. Its lock is a file that git itself holds too, so it
lasts until a git is gone whose broker was killed. What is there can always be removed: the next clone goes to the server.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID
from weakref import WeakValueDictionary

from paca.common import disk_space
from paca.repositories.broker import host_git
from paca.repositories.broker.host_git import GitFailed, HostGit
from paca.repositories.broker.routes import Route
from paca.repositories.broker.upstream import ServerProblem, checked_address

logger = logging.getLogger(__name__)
FILL_SECONDS, UPDATE_SECONDS, ASK_SECONDS = 3600.0, 600.0, 60.0
RETRY_SECONDS = 600.0
PLACE_SECONDS = 30.0
LOCK_POLL_SECONDS = 0.1
MAX_PACKS = 40
MAX_READERS, MAX_OWN_READERS = 32, 4
KEY = re.compile(r"[0-9a-f]{16,64}\Z")
# What a git that was killed leaves behind.
LEFTOVERS = ("objects/pack/tmp_*", "objects/pack/.tmp-*", "objects/tmp_objdir-*")
REFS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


@dataclass(slots=True)
class Usage:
    """What this process knows of one mirror: since when it is fresh, when a fill may be tried again, how many read it."""

    fresh_at: float = float("-inf")
    retry_at: float = 0.0
    readers: int = 0
    filling: asyncio.Task[None] | None = None


class NoPlace(Exception):
    """Too many read from mirrors now."""


class Mirrors:
    """The mirrors below ``root``. ``max_bytes``: what all may take together; 0 for no mirrors."""

    def __init__(self, root: Path, *, max_bytes: int, max_age_seconds: float) -> None:
        self.root = root
        self._max_bytes = max_bytes
        self._max_age = max_age_seconds
        self.git = HostGit(max(max_bytes, 1 << 20))
        self._used: dict[str, Usage] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        # Each reader is a process of this machine, which a sandbox must not have many of.
        self._all_readers = asyncio.Semaphore(MAX_READERS)
        self._readers_of: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()

    def path(self, key: str) -> Path:
        """The folder of a mirror, which may not exist. Raises ``ValueError`` if the key is no digest."""
        # guard: mirror-names-are-digests
        if not KEY.match(key):
            raise ValueError(f"no name of a mirror: {key!r}")
        return self.root / f"{key}.git"

    def is_ready(self, route: Route) -> bool:
        """Whether the repository has a whole mirror."""
        return bool(route.mirror and self._max_bytes) and self.path(route.mirror).is_dir()

    def usage(self, route: Route) -> Usage:
        """What is known of the mirror of a repository."""
        return self._used.setdefault(route.mirror, Usage())

    async def update(self, route: Route) -> Path:
        """Bring the mirror to where the server is now, with the credential of the route; gives its folder.

        Raises ``GitFailed``, ``ServerProblem``, ``OSError`` or ``TimeoutError`` if the server cannot be asked: what the
        mirror has is not shown then, for the right to read it may be gone.
        """
        path, usage = self.path(route.mirror), self.usage(route)
        asked_at = time.monotonic()
        async with self._locked(route.mirror) as lock:
            if usage.fresh_at < asked_at:  # an update that began later has all that there was
                began_at = time.monotonic()
                await self._fetch(route, path, lock, UPDATE_SECONDS)
                usage.fresh_at = began_at
        return path

    def fill_later(self, route: Route) -> None:
        """Begin to fill the mirror in the background, unless that is done, or has just failed."""
        if not route.mirror or not self._max_bytes or self.is_ready(route):
            return
        usage = self.usage(route)
        busy = usage.filling is not None and not usage.filling.done()
        if not busy and time.monotonic() >= usage.retry_at:
            usage.filling = asyncio.create_task(self._fill_or_log(route))

    async def _fill_or_log(self, route: Route) -> None:
        usage = self.usage(route)
        try:
            await self.fill(route)
        except (GitFailed, ServerProblem, OSError, TimeoutError) as error:
            usage.retry_at = time.monotonic() + RETRY_SECONDS
            logger.warning(
                "mirror not filled", extra={"mirror": route.mirror, "reason": str(error)}
            )

    async def fill(self, route: Route) -> Path:
        """Make the mirror, unless it is there. Raises ``GitFailed`` and what ``update`` does; nothing is left then."""
        path = self.path(route.mirror)
        async with self._locked(route.mirror) as lock:
            if path.is_dir():
                return path
            unfinished = path.with_suffix(".new")
            await asyncio.to_thread(shutil.rmtree, unfinished, ignore_errors=True)
            try:
                await self.git.run(
                    "init", "--quiet", "--bare", "--template=", str(unfinished), seconds=ASK_SECONDS
                )
                await self._fetch(route, unfinished, lock, FILL_SECONDS)
                size = await asyncio.to_thread(host_git.size_of, unfinished)
                # guard: mirror-size-is-bounded
                if size > self._max_bytes:
                    raise GitFailed("the repository is larger than all mirrors may be")
                unfinished.rename(path)
            finally:
                await asyncio.to_thread(shutil.rmtree, unfinished, ignore_errors=True)
            self.usage(route).fresh_at = time.monotonic()
        await self.remove_unused()
        return path

    async def _fetch(self, route: Route, path: Path, lock: int, seconds: float) -> None:
        addresses = await checked_address(route)
        try:
            await self.git.run(
                *(f"--git-dir={path}", "fetch", "--quiet", "--prune", "--no-tags", "--force"),
                *("--no-write-fetch-head", "--no-auto-maintenance", "--", route.url, *REFS),
                route=route,
                addresses=addresses,
                seconds=seconds,
                inherited=(lock,),
                look=self.require_space,
            )
        except BaseException:
            await asyncio.to_thread(_remove_leftovers, path)
            raise
        if len(list((path / "objects" / "pack").glob("*.pack"))) > MAX_PACKS:
            await self.git.run(
                *(f"--git-dir={path}", "repack", "--quiet", "-d", "--geometric=2"),
                seconds=UPDATE_SECONDS,
                inherited=(lock,),
            )

    async def has_all(self, path: Path, objects: Sequence[str]) -> bool:
        """Whether a mirror has all of these objects. Raises ``GitFailed`` or ``TimeoutError``."""
        printed = await self.git.read(
            *(f"--git-dir={path}", "cat-file", "--buffer", "--batch-check=%(objecttype)"),
            given="\n".join(objects).encode() + b"\n",
            max_output=host_git.MAX_OUTPUT_BYTES,
            seconds=ASK_SECONDS,
        )
        return b"missing" not in printed

    async def require_space(self) -> None:
        """Raises ``GitFailed`` if the mirrors take more than they may, and none can be removed, or the disk is full."""
        if await asyncio.to_thread(disk_space.free_mib, self.root) < disk_space.MIN_FREE_MIB:
            raise GitFailed("the disk of the mirrors is nearly full")
        if await asyncio.to_thread(size_of_all, self.root) <= self._max_bytes:
            return
        await self.remove_unused()
        # guard: mirrors-stop-at-their-limit
        if await asyncio.to_thread(size_of_all, self.root) > self._max_bytes:
            raise GitFailed("the mirrors would take more than GIT_MIRRORS_MIB")

    @asynccontextmanager
    async def reading(self, route: Route, conversation_id: UUID) -> AsyncIterator[None]:
        """Read from a mirror, which stays meanwhile.

        It waits while the conversation, or all, have too many readers; then it raises ``NoPlace``.
        """
        own = self._readers_of.setdefault(conversation_id, asyncio.Semaphore(MAX_OWN_READERS))
        async with self.in_use(route), AsyncExitStack() as places:
            try:
                async with asyncio.timeout(PLACE_SECONDS):
                    await places.enter_async_context(own)
                    await places.enter_async_context(self._all_readers)
            except TimeoutError:
                raise NoPlace from None
            yield

    @asynccontextmanager
    async def in_use(self, route: Route) -> AsyncIterator[Path]:
        """The folder of a mirror, which is not removed meanwhile."""
        usage, path = self.usage(route), self.path(route.mirror)
        usage.readers += 1
        try:
            with suppress(FileNotFoundError):
                os.utime(path)
            yield path
        finally:
            usage.readers -= 1

    async def upload_pack(self, path: Path, *, config: int) -> asyncio.subprocess.Process:
        """The process that answers a request of git by protocol 2, by its standard input and output."""
        return await self.git.start(
            *("upload-pack", "--stateless-rpc", "--strict", str(path)),
            config=config,
            protocol="version=2",
            stdin=asyncio.subprocess.PIPE,
        )

    @asynccontextmanager
    async def _locked(self, key: str) -> AsyncIterator[int]:
        """Hold the lock of a mirror, which other processes see; gives its descriptor."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(
                self.root / f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
            try:
                while not _try_lock(descriptor):  # noqa: ASYNC110 - another process holds it
                    await asyncio.sleep(LOCK_POLL_SECONDS)
                yield descriptor
            finally:
                os.close(descriptor)

    async def remove_unused(self) -> list[str]:
        """Remove what was not used for long, and the oldest beyond the limit; gives the names of what went."""
        return await asyncio.to_thread(self._remove_unused)

    def _remove_unused(self) -> list[str]:
        found = []
        with suppress(FileNotFoundError):
            for path in self.root.glob("*.git"):
                with suppress(OSError):
                    found.append((path.stat().st_mtime, host_git.size_of(path), path))
        removed, total = [], sum(size for _, size, _ in found)
        for used_at, size, path in sorted(found):
            is_old = time.time() - used_at > self._max_age
            if not is_old and total <= self._max_bytes:
                continue
            if self._remove(path):
                removed.append(path.stem)
                total -= size
        return removed

    def _remove(self, path: Path) -> bool:
        """Remove a mirror, unless it is in use."""
        usage = self._used.get(path.stem)
        # guard: mirror-in-use-stays
        if usage is not None and usage.readers:
            return False
        descriptor = os.open(
            self.root / f"{path.stem}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            if not _try_lock(descriptor):
                return False
            gone = path.with_suffix(".old")
            shutil.rmtree(gone, ignore_errors=True)
            path.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)
            return True
        finally:
            os.close(descriptor)


def size_of_all(root: Path) -> int:
    """The bytes that the mirrors below a folder take, with those that are being filled."""
    found = [*root.glob("*.git"), *root.glob("*.new"), *root.glob("*.old")]
    return sum(map(host_git.size_of, found))


def _remove_leftovers(path: Path) -> None:
    for pattern in LEFTOVERS:
        for found in path.glob(pattern):
            with suppress(OSError):
                shutil.rmtree(found) if found.is_dir() else found.unlink()


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
