"""Lets a model write the title of a chat after its first answer, beside everything else the worker does.

The turn is over and its claim is given up before the call begins, so neither its end nor the next turn waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import cast
from uuid import UUID

from paca.common.best_effort import tolerated
from paca.common.errors import NotFound
from paca.conversations.services import generated_titles
from paca.conversations.services.generated_titles import FirstWords, NoTitleWanted
from paca.conversations.store import AppendResult
from paca.engine import titles
from paca.engine.before_call import bound_of_request
from paca.engine.context.history import History
from paca.engine.limits import TurnLimitReached, TurnProgress
from paca.engine.llm.model_errors import ModelError
from paca.engine.side_call import ask_beside
from paca.engine.tools.registry import Toolbox
from paca.engine.turn import ActiveTurn, ConversationSandbox, LogEntry, TurnServices
from paca.events import Event
from paca.worker.agent_model import open_title_model
from paca.worker.assembly import AssembledTurn
from paca.worker.database import Database, run_to_end

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


class TitleWriter:
    """The tasks that write titles. ``drain`` ends them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, answered: AnsweredTurn) -> None:
        """Let the title be written, if the agent's settings want one and the conversation has none that stays."""
        # guard: titles-are-switched-off
        if not answered.turn.profile.title_model or answered.progress.title_settled:
            return
        task = asyncio.create_task(self._write(answered))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self) -> None:
        """Cancel what runs; what the calls have taken is booked before they end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _write(self, answered: AnsweredTurn) -> None:
        with tolerated("titles", conversation=str(answered.conversation_id)):
            words = await self._database.call(
                generated_titles.first_words, answered.conversation_id, turn=answered.number
            )
            if words is not None:
                await self._ask(answered, words)

    async def _ask(self, answered: AnsweredTurn, words: FirstWords) -> None:
        opened = open_title_model(answered.turn.models, shared_key=answered.shared_key)
        model = opened.profile.title_model
        # It is no step of the turn, whose last one may have been the last that is allowed.
        progress = replace(answered.progress, steps=0)
        log = _TitleLog(answered.conversation_id, progress, self._database)
        # One attempt: a title is not worth a second one.
        profile = replace(opened.profile, retries=0)
        turn = ActiveTurn(profile, Toolbox(()))
        # A call beside the conversation reaches no sandbox.
        services = TurnServices(log, cast(ConversationSandbox, None), opened.llm)
        request = titles.title_request(model, question=words.question, answer=words.answer)
        text = ""
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                reply = await ask_beside(
                    turn,
                    services,
                    request,
                    llm=services.llm,
                    purpose=titles.PURPOSE,
                    at_most=bound_of_request(profile, request),
                )
            text = reply.text
        except (ModelError, TurnLimitReached, NoTitleWanted, NotFound, TimeoutError) as error:
            logger.info("no title was written", extra={"cause": type(error).__name__})
        finally:
            await log.finish(text, model=model)


class _TitleLog:
    """The log as the call for a title writes it: without a claim, as people do."""

    def __init__(self, conversation_id: UUID, progress: TurnProgress, database: Database) -> None:
        self._conversation_id, self._database = conversation_id, database
        self._progress = progress
        self._added: list[LogEntry] = []
        self._has_begun = False

    @property
    def history(self) -> History:
        """No call for a title reads it."""
        return History()

    @property
    def progress(self) -> TurnProgress:
        return self._progress

    def add(self, *entries: LogEntry) -> None:
        self._added.extend(entries)

    async def commit(self, *entries: LogEntry) -> History:
        """Store the start of the call. Raises what ``generated_titles.append`` raises."""
        self.add(*entries)
        if self._added:
            taken, self._added = tuple(self._added), []
            await run_to_end(self._store(*taken))
            self._has_begun = True
        return self.history

    async def _store(self, *entries: LogEntry) -> AppendResult:
        return await self._database.call(generated_titles.append, self._conversation_id, *entries)

    def show_live(self, event: Event) -> None:
        """Nobody watches the call."""

    async def finish(self, text: str, *, model: str) -> None:
        """Store what the call took and the title that it gave, also if this task is cancelled."""
        if self._has_begun:
            await run_to_end(self._finish(text, model))

    async def _finish(self, text: str, model: str) -> None:
        await self._database.call(
            generated_titles.store_title,
            self._conversation_id,
            text,
            model=model,
            usage=tuple(self._added),
        )
