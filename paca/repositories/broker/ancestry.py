"""Proves that a push takes no commit away from a branch, before the server sees it.

What the sandbox says of its commits counts for nothing. The pack that it sends is kept beside the mirrors, and git on
the host reads it together with what the server has: the mirror, or its commits alone where there is no mirror.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from paca.common import disk_space
from paca.repositories.broker import host_git
from paca.repositories.broker.host_git import GitFailed, HostGit
from paca.repositories.broker.mirrors import Mirrors
from paca.repositories.broker.pkt_line import Command
from paca.repositories.broker.routes import Route
from paca.repositories.broker.upstream import ServerProblem, checked_address

logger = logging.getLogger(__name__)
FOLDER = "pushes"
MAX_PUSH_BYTES = 1 << 30
MAX_HISTORY_BYTES = 2 << 30
PLACES = 2
# The gate cuts a connection on which nothing moves for 300 s.
PLACE_SECONDS = 90.0
PROOF_SECONDS = 180.0
READ_BYTES = 1 << 20
ABANDONED_SECONDS = 3600.0
BRANCHES = "+refs/heads/*:refs/heads/*"
DROPS = (
    "The branch has commits on the server that this push would drop. Fetch it, merge or rebase, and push the new"
    " commit; or push another branch."
)
TOO_LARGE = (
    "A push to a branch that exists may have {} MiB. Push another branch and open a pull request."
)
UNPROVEN = (
    "It cannot be shown that this push keeps the commits of the branch: {}. Fetch the branch and push with push_branch"
    " again, or push another branch."
)
DISK_IS_FULL = "the disk of Paca is nearly full"
BUSY = "Many pushes are checked now. Push again in a moment."


class Unproven(Exception):
    """The push is not passed on; the text says why and what to do."""


class PushProofs:
    """Checks pushes to branches that exist. ``mirrors`` has what servers have, and the folder for what is checked."""

    def __init__(self, mirrors: Mirrors) -> None:
        self._mirrors = mirrors
        self._git = HostGit(MAX_HISTORY_BYTES)
        self._places = asyncio.Semaphore(PLACES)

    @asynccontextmanager
    async def proven(
        self, route: Route, command: Command, pack: AsyncIterator[bytes]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The pack again, once it is sure that ``command.new`` follows ``command.old``.

        Raises ``Unproven``, ``OSError`` and what the pack raises.
        """
        folder = self._mirrors.root / FOLDER / uuid.uuid4().hex
        try:
            await asyncio.to_thread(folder.mkdir, parents=True, mode=0o700)
            with await asyncio.to_thread((folder / "sent").open, "w+b", 0) as sent:
                # Without a place: a client that sends slowly keeps none from the others.
                await self._keep(pack, sent)
                async with self._place():
                    await self._prove_or_refuse(route, command, sent, folder)
                await asyncio.to_thread(sent.seek, 0)
                yield _read(sent)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """One of the few places in which git checks. Raises ``Unproven``."""
        try:
            async with asyncio.timeout(PLACE_SECONDS):
                await self._places.acquire()
        except TimeoutError:
            raise Unproven(BUSY) from None
        try:
            yield
        finally:
            self._places.release()

    async def _keep(self, pack: AsyncIterator[bytes], sent: BinaryIO) -> None:
        size, looked_at = 0, -(64 << 20)
        async for piece in pack:
            size += len(piece)
            # guard: broker-bounded-push-to-a-branch
            if size > MAX_PUSH_BYTES:
                raise Unproven(TOO_LARGE.format(MAX_PUSH_BYTES >> 20))
            if size - looked_at >= 64 << 20:
                looked_at = size
                free = await asyncio.to_thread(disk_space.free_mib, self._mirrors.root)
                if free < disk_space.MIN_FREE_MIB:
                    raise Unproven(UNPROVEN.format(DISK_IS_FULL))
            await asyncio.to_thread(sent.write, piece)

    async def _prove_or_refuse(
        self, route: Route, command: Command, sent: BinaryIO, folder: Path
    ) -> None:
        try:
            async with asyncio.timeout(PROOF_SECONDS):
                follows = await self._follows(route, command, sent, folder)
        except (GitFailed, ServerProblem, TimeoutError) as error:
            reason = str(error).rpartition("\n")[2].rstrip(".") or "it takes too long"
            logger.warning("push not proven", extra={"repository": route.name, "reason": reason})
            raise Unproven(UNPROVEN.format(reason)) from error
        # guard: broker-push-drops-no-commit
        if not follows:
            raise Unproven(DROPS)

    async def _follows(self, route: Route, command: Command, sent: BinaryIO, folder: Path) -> bool:
        """Whether the new commit has the old one among its ancestors. Raises ``GitFailed`` and ``ServerProblem``."""
        async with self._server_history(route, command, folder) as history:
            pushed = folder / "pushed.git"
            await self._init(pushed, command)
            alternates = pushed / "objects" / "info" / "alternates"
            await asyncio.to_thread(alternates.parent.mkdir, exist_ok=True)
            await asyncio.to_thread(alternates.write_text, f"{history}/objects\n")
            await asyncio.to_thread(sent.seek, 0)
            await self._git.run(
                *(f"--git-dir={pushed}", "index-pack", "--stdin", "--fix-thin"),
                f"--max-input-size={MAX_PUSH_BYTES}",
                stdin=sent,
                seconds=PROOF_SECONDS,
            )
            try:
                await self._git.run(
                    *(f"--git-dir={pushed}", "merge-base", "--is-ancestor"),
                    *(command.old, command.new),
                    seconds=PROOF_SECONDS,
                )
            except GitFailed as failed:
                if failed.code == 1:
                    return False
                raise
            return True

    @asynccontextmanager
    async def _server_history(
        self, route: Route, command: Command, folder: Path
    ) -> AsyncIterator[Path]:
        """A repository with the commits that the server has now: the mirror, or one without files."""
        if self._mirrors.is_ready(route):
            async with self._mirrors.in_use(route) as mirror:
                if await self._is_updated(route):
                    yield mirror
                    return
        history = folder / "history.git"
        await self._init(history, command)
        await self._git.run(
            *(f"--git-dir={history}", "fetch", "--quiet", "--no-tags", "--filter=tree:0"),
            *("--no-write-fetch-head", "--no-auto-maintenance", "--", route.url, BRANCHES),
            route=route,
            addresses=await checked_address(route),
            seconds=PROOF_SECONDS,
            look=partial(self._require_space, history),
        )
        yield history

    async def _is_updated(self, route: Route) -> bool:
        try:
            await self._mirrors.update(route)
        except (GitFailed, OSError):
            return False
        return True

    async def _require_space(self, history: Path) -> None:
        """Raises ``GitFailed`` if the server sends more than commits, and too much of it."""
        # guard: broker-bounded-history
        if await asyncio.to_thread(host_git.size_of, history) > MAX_HISTORY_BYTES:
            raise GitFailed("the repository is too large without a mirror")
        if await asyncio.to_thread(disk_space.free_mib, history) < disk_space.MIN_FREE_MIB:
            raise GitFailed(DISK_IS_FULL)

    async def _init(self, folder: Path, command: Command) -> None:
        how = "sha1" if len(command.old) == 40 else "sha256"
        await self._git.run(
            *("init", "--quiet", "--bare", "--template=", f"--object-format={how}", str(folder)),
            seconds=PROOF_SECONDS,
        )

    async def remove_abandoned(self) -> None:
        """Remove what a broker that was killed has left."""
        await asyncio.to_thread(_remove_abandoned, self._mirrors.root / FOLDER)


def _remove_abandoned(folder: Path) -> None:
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


async def _read(sent: BinaryIO) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(sent.read, READ_BYTES):
        yield piece
