"""Answers requests for the files of sandboxes, in a task of every worker, beside the runs.

Each request has a session of its own in the sandbox, as a helper has, so it takes nothing from the run that uses the
sandbox meanwhile. Few are answered at once, and long ones never take all places.
"""

from __future__ import annotations

import asyncio
import functools
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

from paca.bus import get_bus
from paca.bus.base import ConversationSignal, Hint, HintsLost, Signal
from paca.common.best_effort import tolerated
from paca.common.errors import PacaError
from paca.common.text import to_storable_json
from paca.conversations import file_requests, sandbox_lifecycle
from paca.conversations.models import FileRequest
from paca.engine.workspace import Superseded, WorkspaceError
from paca.sandbox.base import Sandbox, SandboxSpec
from paca.sandbox.files import client
from paca.sandbox.manager import SandboxManager
from paca.worker import assembly
from paca.worker.database import Database
from paca.worker.event_masking import mask_of_conversation
from paca.worker.file_masking import masked_answer
from paca.worker.file_streams import Archive, Download, Upload
from paca.worker.sandboxes.network_gates import with_gate
from paca.worker.skill_access import RunSkillAccess

LOOK_SECONDS = 1.0
SWEEP_SECONDS = 60.0
FREE_SECONDS = 5.0  # between two looks for requests of dead workers
SHORT = ("list", "show", "changes", "diff", "upload")
LONG = ("download", "archive")
SHORT_PLACES, LONG_PLACES = 4, 2
PLACES_OF_CONVERSATION = {SHORT: 2, LONG: 1}
SHORT_SECONDS, LONG_SECONDS = 40.0, 1700.0
EPOCH = 1  # each worker has sessions of its own, so none supersedes another
BUSY = "The sandbox does not answer: a command may take all its time. Try again."
NOT_FOUND = "The conversation was deleted."


class FileServer:
    """Takes and answers requests of all conversations whose sandboxes this worker can reach."""

    def __init__(self, worker_id: str, database: Database, manager: SandboxManager) -> None:
        self._worker_id = worker_id
        self._database = database
        self._manager = manager
        self._due = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._free = {SHORT: list(range(SHORT_PLACES)), LONG: list(range(10, 10 + LONG_PLACES))}
        self._conversations: dict[tuple[str, ...], list[UUID]] = {SHORT: [], LONG: []}
        self._swept_at = self._freed_at = 0.0

    async def serve(self, draining: asyncio.Event) -> None:
        """Answer until the worker drains; another one takes what is not answered then. Without requests a look is one query a second; a hint makes it come at once."""
        async with get_bus().listen((ConversationSignal, HintsLost), self._on_hint):
            try:
                while not draining.is_set():
                    with tolerated("requests for files"):
                        await self._look()
                    try:
                        async with asyncio.timeout(LOOK_SECONDS):
                            await self._due.wait()
                    except TimeoutError:
                        continue
                    self._due.clear()
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    def _on_hint(self, hint: Hint) -> None:
        if isinstance(hint, HintsLost) or (
            isinstance(hint, ConversationSignal) and hint.signal is Signal.FILES
        ):
            self._due.set()

    async def _look(self) -> None:
        if time.monotonic() - self._swept_at > SWEEP_SECONDS:
            self._swept_at = time.monotonic()
            await self._database.call(file_requests.delete_expired)
        if time.monotonic() - self._freed_at > FREE_SECONDS:
            self._freed_at = time.monotonic()
            await self._database.call(file_requests.hand_back_of_dead_workers, self._worker_id)
        for ops, free in self._free.items():
            if not free:
                continue
            taken = await self._database.call(
                file_requests.take,
                self._worker_id,
                ops=ops,
                at_most=len(free),
                each=PLACES_OF_CONVERSATION[ops],
                busy=list(self._conversations[ops]),
            )
            for request in taken:
                place = free.pop()
                self._conversations[ops].append(request.conversation_id)
                task = asyncio.create_task(self._carry_out(request, place))
                self._tasks.add(task)
                ended = functools.partial(self._ended, place, ops, request.conversation_id)
                task.add_done_callback(ended)

    def _ended(
        self, place: int, ops: tuple[str, ...], conversation_id: UUID, task: asyncio.Task[None]
    ) -> None:
        """Free the place. Another request is looked for at once only if one may have been left for want of a place."""
        in_work = self._conversations[ops]
        was_full = (
            not self._free[ops] or in_work.count(conversation_id) >= PLACES_OF_CONVERSATION[ops]
        )
        self._tasks.discard(task)
        self._free[ops].append(place)
        in_work.remove(conversation_id)
        if was_full:
            self._due.set()

    async def _carry_out(self, request: FileRequest, place: int) -> None:
        """Answer one request; its error is an answer too."""
        try:
            async with asyncio.timeout(LONG_SECONDS if request.op in LONG else SHORT_SECONDS):
                await self._answer(request, place)
        except asyncio.CancelledError:
            with tolerated("return of a request for files"):
                await self._database.call(file_requests.hand_back, request)
            raise
        except TimeoutError:
            await self._fail(request, "files_unavailable", BUSY)
        except Superseded:
            await self._fail(request, "files_unavailable", BUSY)
        except WorkspaceError as error:
            full = isinstance(error, client.WorkspaceFull)
            await self._fail(request, "workspace_full" if full else error.code, error.detail)
        except PacaError as error:
            await self._fail(request, error.code, error.detail)
        except Exception:
            await self._fail(
                request, "files_unavailable", "The worker could not answer. Try again."
            )
            raise

    async def _fail(self, request: FileRequest, code: str, detail: str) -> None:
        with tolerated("answer to a request for files"):
            await self._database.call(_store_failure, request, code, detail)

    async def _answer(self, request: FileRequest, place: int) -> None:
        async with self._opened(request, place) as sandbox:
            if request.op == "download":
                await Download(request, self._database).run(sandbox)
            elif request.op == "archive":
                await Archive(request, self._database).run(sandbox)
            elif request.op == "upload":
                found = await Upload(request, self._database).run(sandbox)
                await self._database.call(_store_found, request, found)
            else:
                async with client.asking(sandbox, request.op, **request.arguments) as reply:
                    packed = await reply.packed()
                await self._database.call(_store_shown, request, packed)

    @asynccontextmanager
    async def _opened(self, request: FileRequest, place: int) -> AsyncIterator[Sandbox]:
        """The sandbox of the request, started or resumed if it does not run."""
        began = time.monotonic()
        spec = await self._database.call(self._spec, request, place)
        backend = await self._manager.choose_backend(spec.files_backend)
        sandbox = await backend.attach(spec, epoch=EPOCH)
        if sandbox is None:
            await self._database.call(sandbox_lifecycle.record_use, spec.conversation_id)
            spec = await with_gate(spec, self._manager, self._database)
            sandbox = await backend.open(spec, epoch=EPOCH, may_replace=_never)
        try:
            await self._database.call(
                file_requests.record_opened,
                spec.conversation_id,
                backend=backend.name,
                boot_id=sandbox.boot_id,
                seconds=round(time.monotonic() - began, 3),
                resumed=sandbox.resumed,
            )
            yield sandbox
        finally:
            await sandbox.detach()

    def _spec(self, request: FileRequest, place: int) -> SandboxSpec:
        """What the sandbox needs, as for a turn. Raises ``PacaError`` if the conversation or its files are gone."""
        rows = assembly.read_rows(request.conversation_id)
        if rows is None:
            raise WorkspaceError(NOT_FOUND)
        spec = assembly.sandbox_spec(rows)
        if spec.reset_files:
            raise WorkspaceError("The files of this conversation are being removed.")
        skills = RunSkillAccess(rows.agent.pk, self._database)
        return replace(
            spec, session=f"files-{place}-{self._worker_id}", read_files=skills.read_files
        )


def _store_found(request: FileRequest, found: dict[str, Any]) -> None:
    mask = mask_of_conversation(request.conversation_id)
    value = mask.value(json.loads(to_storable_json(found)))
    file_requests.answer(request, value)


def _store_failure(request: FileRequest, code: str, detail: str) -> None:
    """Store an error without secrets: its words may come from inside the sandbox."""
    mask = mask_of_conversation(request.conversation_id)
    # guard: errors-about-files-hold-no-secret
    shown = mask.text(detail)
    file_requests.fail(request, code, shown)


def _store_shown(request: FileRequest, packed: bytes) -> None:
    """Store an answer without the secrets that a command has written into a file. Raises ``FilesBroken``."""
    mask = mask_of_conversation(request.conversation_id)
    # guard: shown-files-hold-no-secret
    shown = masked_answer(packed, mask)
    file_requests.answer_packed(request, shown)


async def _never() -> bool:
    """A sandbox that does not answer is left to the run that uses it."""
    return False
