"""A model call beside everything else the worker does, after a turn has ended with an answer.

The turn is over and its claim is given up before the call begins, so neither its end nor the next turn waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import UUID

from paca.common.errors import NotFound
from paca.common.secret_removal import SecretMask
from paca.conversations.store import AppendResult
from paca.engine.before_call import bound_of_request
from paca.engine.context.history import History
from paca.engine.limits import TurnLimitReached, TurnProgress
from paca.engine.llm.base import Request
from paca.engine.llm.model_errors import ModelError
from paca.engine.side_call import ask_beside
from paca.engine.tools.registry import Toolbox
from paca.engine.turn import (
    ActiveTurn,
    ConversationSandbox,
    LogEntry,
    OpenedModel,
    TurnServices,
)
from paca.events import Event
from paca.worker.assembly import AssembledTurn
from paca.worker.database import Database, run_to_end
from paca.worker.event_masking import NO_SECRETS

logger = logging.getLogger(__name__)

LONGEST_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """A turn that has ended with an answer, and what the worker knows of it."""

    conversation_id: UUID
    number: int
    turn: AssembledTurn
    progress: TurnProgress
    shared_key: bool = False


class TasksAfterTurns:
    """Tasks that run on after a turn. ``drain`` ends them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self) -> None:
        """Cancel what runs; what the calls have taken is booked before they end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class CallAfterTurn:
    """How the call is stored: ``append`` its start, which raises ``unwanted`` if it may not begin, ``store`` its end.

    ``store`` gets the conversation's id, the text of the reply (empty if there is none), ``model`` and ``usage``.
    """

    purpose: str
    append: Callable[..., AppendResult]
    store: Callable[..., None]
    unwanted: type[Exception]


async def ask(
    answered: AnsweredTurn,
    opened: OpenedModel,
    request: Request,
    call: CallAfterTurn,
    database: Database,
) -> None:
    """Ask the model once, and store what the call took and what it gave, also if this task is cancelled."""
    # It is no step of the turn, whose last one may have been the last that is allowed.
    progress = replace(answered.progress, steps=0)
    log = _LogAfterTurn(answered.conversation_id, progress, database, call)
    # One attempt: what follows a turn is not worth a second one.
    profile = replace(opened.profile, retries=0)
    turn = ActiveTurn(profile, Toolbox(()))
    # A call beside the conversation reaches no sandbox.
    services = TurnServices(log, cast(ConversationSandbox, None), opened.llm)
    text = ""
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            reply = await ask_beside(
                turn,
                services,
                request,
                llm=services.llm,
                purpose=call.purpose,
                at_most=bound_of_request(profile, request),
            )
        text = reply.text
    except (ModelError, TurnLimitReached, call.unwanted, NotFound, TimeoutError) as error:
        facts = {"purpose": call.purpose, "cause": type(error).__name__}
        logger.info("a call after the turn gave nothing", extra=facts)
    finally:
        await log.finish(text, model=request.model)


class _LogAfterTurn:
    """The log as the call writes it: without a claim, as people do."""

    def __init__(
        self,
        conversation_id: UUID,
        progress: TurnProgress,
        database: Database,
        call: CallAfterTurn,
    ) -> None:
        self._conversation_id, self._database, self._call = conversation_id, database, call
        self._progress = progress
        self._added: list[LogEntry] = []
        self._has_begun = False

    @property
    def history(self) -> History:
        """No such call reads it."""
        return History()

    @property
    def progress(self) -> TurnProgress:
        return self._progress

    @property
    def mask(self) -> SecretMask:
        """No such call has tools; its model reads and says no secret."""
        return NO_SECRETS

    def add(self, *entries: LogEntry) -> None:
        self._added.extend(entries)

    async def commit(self, *entries: LogEntry) -> History:
        """Store the start of the call. Raises what ``append`` raises."""
        self.add(*entries)
        if self._added:
            taken, self._added = tuple(self._added), []
            await run_to_end(self._store(*taken))
            self._has_begun = True
        return self.history

    async def _store(self, *entries: LogEntry) -> AppendResult:
        return await self._database.call(self._call.append, self._conversation_id, *entries)

    def show_live(self, event: Event) -> None:
        """Nobody watches the call."""

    async def finish(self, text: str, *, model: str) -> None:
        """Store what the call took and what it gave, also if this task is cancelled."""
        if self._has_begun:
            await run_to_end(self._finish(text, model))

    async def _finish(self, text: str, model: str) -> None:
        usage = tuple(self._added)
        await self._database.call(
            self._call.store, self._conversation_id, text, model=model, usage=usage
        )
