"""Lets a model write the title of a chat after its first answer."""

from __future__ import annotations

from paca.common.best_effort import tolerated
from paca.conversations.services import generated_titles
from paca.conversations.services.generated_titles import FirstWords, NoTitleWanted
from paca.engine import titles
from paca.worker import after_turn
from paca.worker.after_turn import AnsweredTurn, CallAfterTurn, TasksAfterTurns
from paca.worker.agent_model import open_title_model
from paca.worker.database import Database

CALL = CallAfterTurn(
    titles.PURPOSE, generated_titles.append, generated_titles.store_title, NoTitleWanted
)


class TitleWriter(TasksAfterTurns):
    """The tasks that write titles."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database

    def begin(self, answered: AnsweredTurn) -> None:
        """Let the title be written, if the agent's settings want one and the conversation has none that stays."""
        # guard: titles-are-switched-off
        if not answered.turn.profile.title_model or answered.progress.title_settled:
            return
        self.start(self._write(answered))

    async def _write(self, answered: AnsweredTurn) -> None:
        with tolerated("titles", conversation=str(answered.conversation_id)):
            words = await self._database.call(
                generated_titles.first_words, answered.conversation_id, turn=answered.number
            )
            if words is not None:
                await self._ask(answered, words)

    async def _ask(self, answered: AnsweredTurn, words: FirstWords) -> None:
        opened = open_title_model(answered.turn.models, shared_key=answered.shared_key)
        request = titles.title_request(
            opened.profile.title_model, question=words.question, answer=words.answer
        )
        await after_turn.ask(answered, opened, request, CALL, self._database)
