"""The mirrors of this machine: bare copies of repositories, one for each address and credential.

A mirror is filled beside its name and appears whole by a rename. Its lock is a file that git itself holds too, so it
lasts until a git is gone whose broker was killed. What is there can always be removed: the next clone goes to the server.
"""

from __future__ import annotations

import asyncio
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

from paca.common import clock, disk_space
from paca.repositories.broker import host_git, mirror_files, reachable, server_refs
from paca.repositories.broker.host_git import GitFailed, HostGit
from paca.repositories.broker.routes import Route
from paca.repositories.broker.upstream import ServerProblem, checked_address

logger = logging.getLogger(__name__)
FILL_SECONDS, UPDATE_SECONDS, ASK_SECONDS = 3600.0, 600.0, 60.0
PRUNE_SECONDS = 3600.0
RETRY_SECONDS = 600.0
PLACE_SECONDS = 30.0
LOCK_POLL_SECONDS = 0.1
MAX_PACKS = 40
MAX_READERS, MAX_OWN_READERS = 32, 4
KEY = re.compile(r"[0-9a-f]{16,64}\Z")
REFS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


@dataclass(slots=True)
class Usage:
    """What this process knows of one mirror.

    ``fresh_at`` and ``fresh_for``: when it was as the server is, and which credential the server has answered then.
    """

    fresh_at: float = float("-inf")
    fresh_for: str = ""
    retry_at: float = 0.0
    readers: int = 0
    is_pruning: bool = False
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
        """Whether the repository has a whole mirror, which can be used now."""
        return (
            bool(route.mirror and self._max_bytes)
            and self.path(route.mirror).is_dir()
            and not self.usage(route).is_pruning
        )

    def usage(self, route: Route) -> Usage:
        """What is known of the mirror of a repository."""
        return self._used.setdefault(route.mirror, Usage())

    async def update(self, route: Route, *, max_age: float = 0.0) -> None:
        """Bring the mirror to where the server is, with the credential of the route, unless it was there lately.

        ``max_age``: for how many seconds that is enough. Raises ``GitFailed``, ``ServerProblem``, ``OSError`` or
        ``TimeoutError`` if the server cannot be asked: what the mirror has is not shown then, for the right to read it
        may be gone.
        """
        path, usage = self.path(route.mirror), self.usage(route)
        wanted_at = clock.monotonic() - max_age
        async with self._locked(route.mirror) as lock:
            # guard: broker-mirror-is-read-with-a-fresh-right
            if usage.fresh_at < wanted_at or usage.fresh_for != route.header:
                began_at = clock.monotonic()
                await self._fetch(route, path, lock, UPDATE_SECONDS)
                usage.fresh_at, usage.fresh_for = began_at, route.header

    def fill_later(self, route: Route) -> None:
        """Begin to fill the mirror in the background, unless that is done, or has just failed."""
        if not route.mirror or not self._max_bytes or self.path(route.mirror).is_dir():
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
            unfinished, usage = path.with_suffix(".new"), self.usage(route)
            await asyncio.to_thread(shutil.rmtree, unfinished, ignore_errors=True)
            began_at = clock.monotonic()
            try:
                await self._init(route, unfinished)
                await self._fetch(route, unfinished, lock, FILL_SECONDS)
                size = await asyncio.to_thread(host_git.size_of, unfinished)
                # guard: mirror-size-is-bounded
                if size > self._max_bytes:
                    raise GitFailed("the repository is larger than all mirrors may be")
                unfinished.rename(path)
            finally:
                await asyncio.to_thread(shutil.rmtree, unfinished, ignore_errors=True)
            usage.fresh_at, usage.fresh_for = began_at, route.header
        await self.remove_unused()
        return path

    async def _init(self, route: Route, path: Path) -> None:
        how = await server_refs.object_format(route)
        await self.git.run(
            *("init", "--quiet", "--bare", "--template=", f"--object-format={how}", str(path)),
            seconds=ASK_SECONDS,
        )
        reachable.note_pruned(path)

    async def _fetch(self, route: Route, path: Path, lock: int, seconds: float) -> None:
        addresses = await checked_address(route)
        try:
            async with reachable.updating(self.git, path):
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
            await asyncio.to_thread(mirror_files.remove_leftovers, path)
            raise
        if len(list((path / "objects" / "pack").glob("*.pack"))) > MAX_PACKS:
            await self.git.run(
                *(f"--git-dir={path}", "repack", "--quiet", "-d", "--geometric=2"),
                seconds=UPDATE_SECONDS,
                inherited=(lock,),
            )

    async def gives(self, route: Route, objects: Sequence[str], *, max_age: float) -> bool:
        """Whether the mirror may give these objects: the server is asked, if need be, whether its refs reach them now.

        ``max_age``: for how many seconds an answer of the server counts. Raises what ``update`` does.
        """
        async with self.in_use(route) as path:
            await self.update(route, max_age=max_age)
            if not await reachable.has_all(self.git, path, objects):
                await self.update(route)
                if not await reachable.has_all(self.git, path, objects):
                    return False
            return await reachable.may_give(self.git, path, objects)

    async def prune(self) -> list[str]:
        """Remove from all mirrors what the server has forced away or deleted; gives the names of those that changed."""
        pruned = []
        for path in await asyncio.to_thread(lambda: sorted(self.root.glob("*.git"))):
            usage = self._used.setdefault(path.stem, Usage())
            if reachable.is_pruned(path) or usage.readers:
                continue
            usage.is_pruning = True
            try:
                async with self._locked(path.stem) as lock:
                    await asyncio.to_thread(mirror_files.remove_leftovers, path)
                    await reachable.prune(self.git, path, lock=lock, seconds=PRUNE_SECONDS)
                pruned.append(path.stem)
            except (GitFailed, OSError) as error:
                logger.warning(
                    "mirror not pruned", extra={"mirror": path.stem, "reason": str(error)}
                )
            finally:
                usage.is_pruning = False
        return pruned

    async def require_space(self) -> None:
        """Raises ``GitFailed`` if the mirrors take more than they may, and none can be removed, or the disk is full."""
        if await asyncio.to_thread(disk_space.free_mib, self.root) < disk_space.MIN_FREE_MIB:
            raise GitFailed("the disk of the mirrors is nearly full")
        if await asyncio.to_thread(mirror_files.size_of_all, self.root) <= self._max_bytes:
            return
        await self.remove_unused()
        # guard: mirrors-stop-at-their-limit
        if await asyncio.to_thread(mirror_files.size_of_all, self.root) > self._max_bytes:
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
            with mirror_files.lock_file(self.root, key) as descriptor:
                while not mirror_files.try_lock(descriptor):  # noqa: ASYNC110 - another process holds it
                    await asyncio.sleep(LOCK_POLL_SECONDS)
                yield descriptor

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
        with mirror_files.lock_file(self.root, path.stem) as descriptor:
            if not mirror_files.try_lock(descriptor):
                return False
            gone = path.with_suffix(".old")
            shutil.rmtree(gone, ignore_errors=True)
            path.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)
        return True
