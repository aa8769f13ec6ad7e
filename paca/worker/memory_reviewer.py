"""Lets a model look back at a conversation now and then, for what is worth keeping."""

from __future__ import annotations

from paca.common.best_effort import tolerated
from paca.conversations.services import memory_reviews
from paca.conversations.services.memory_reviews import NoReviewWanted, Talk
from paca.engine import memory_review
from paca.worker import after_turn
from paca.worker.after_turn import AnsweredTurn, CallAfterTurn, TasksAfterTurns
from paca.worker.agent_model import open_review_model, review_model
from paca.worker.database import Database

CALL = CallAfterTurn(
    memory_review.PURPOSE, memory_reviews.append, memory_reviews.store_notes, NoReviewWanted
)


class MemoryReviewer(TasksAfterTurns):
    """The tasks that look back."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database

    def begin(self, answered: AnsweredTurn) -> None:
        """Let the conversation be looked at, if the agent's settings want it and enough has happened."""
        # guard: memory-review-is-switched-off
        if answered.turn.remembers_at_end:
            self.start(self._review(answered))

    async def _review(self, answered: AnsweredTurn) -> None:
        with tolerated("memory", conversation=str(answered.conversation_id)):
            talk = await self._database.call(memory_reviews.read, answered.conversation_id)
            if talk is not None:
                await self._ask(answered, talk)

    async def _ask(self, answered: AnsweredTurn, talk: Talk) -> None:
        opened = open_review_model(answered.turn.models, shared_key=answered.shared_key)
        request = memory_review.review_request(
            review_model(opened.profile), talk=talk.text, noted=talk.noted
        )
        await after_turn.ask(answered, opened, request, CALL, self._database)
