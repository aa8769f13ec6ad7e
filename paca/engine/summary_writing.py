"""Lets a model write the summary of a conversation: the one that is set for it, or the agent's own if that fails."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from paca import events
from paca.engine.context import transcript
from paca.engine.context.cutting import Budget
from paca.engine.context.measuring import RequestSize
from paca.engine.context.summary_prompt import summary_request
from paca.engine.limits import TurnLimitReached
from paca.engine.llm.base import LLM, Message
from paca.engine.llm.model_errors import (
    ContextExceeded,
    EmptyReply,
    KeyRefused,
    ModelError,
    ModelMisconfigured,
    TimedOut,
)
from paca.engine.request_size import known_window
from paca.engine.side_call import ask_beside
from paca.engine.turn import ActiveTurn, TurnServices

logger = logging.getLogger(__name__)

PURPOSE = "compaction"
# The second and third try have half of the text each time, if the server refuses its length.
SUMMARY_TRIES = 3
# Characters of a request for a summary that are not of the conversation.
INSTRUCTIONS = 3_000
LEAST_CHARACTERS = 1_000
UNREAD = "[A limit ended these notes: the newest part of what they replace was not read for them.]"
MAX_ANSWER_TOKENS = (
    8_000  # with the reasoning; half of them for another model, which may allow less
)


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary and the model that wrote it. Both are empty if none could be made."""

    text: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class _Writer:
    """A model that writes summaries, with its parameters and its window in tokens.

    ``may_be_away``: if it cannot be reached, the conversation goes on without a summary.
    """

    llm: LLM
    model: str
    parameters: dict[str, Any]
    window: int
    is_own: bool = True
    may_be_away: bool = False


async def write_summary(
    replaced: Sequence[Message],
    budget: Budget,
    size: RequestSize,
    focus: str,
    turn: ActiveTurn,
    services: TurnServices,
) -> Summary:
    """The summary of the ``replaced`` messages, which keeps ``focus`` above all.

    ``size`` is that of the next request of the conversation.

    Raises ``TurnLimitReached`` if a limit forbids the first call, and the ``ModelError`` of the agent's settings if
    they cannot work: the next call of the conversation would fail in the same way. The first time it also
    raises the one of an agent's model that cannot be reached, so that an outage costs no history.
    """
    if turn.profile.demo:
        return Summary()
    failed_before = services.log.progress.compaction.summary_failed
    for writer in _writers(budget, turn, services):
        writer = replace(writer, may_be_away=failed_before)
        text = await _ask(writer, replaced, budget, size, focus, turn, services)
        if text:
            return Summary(text, writer.model)
    return Summary()


def _writers(budget: Budget, turn: ActiveTurn, services: TurnServices) -> list[_Writer]:
    profile = turn.profile
    own = _Writer(turn.llm or services.llm, profile.model, profile.parameters, budget.limit)
    other_llm = turn.compaction_llm if turn.llm else services.compaction_llm
    if other_llm is None:
        return [own]
    model = profile.compaction_model
    window = known_window(model, profile.base_url, None) or budget.limit
    # The agent's parameters are chosen for its own model; another may refuse them.
    other = _Writer(other_llm, model, {}, min(window, budget.limit), is_own=False)
    return [other, own]


async def _ask(
    writer: _Writer,
    replaced: Sequence[Message],
    budget: Budget,
    size: RequestSize,
    focus: str,
    turn: ActiveTurn,
    services: TurnServices,
) -> str:
    """The summary of this model; empty if it gave none.

    The text is cut so that each request fits. A refusal for its length halves it, twice.
    """
    answer = _answer_tokens(writer, budget, turn)
    room = int(writer.window * 0.9) - answer - int(_thinking_tokens(writer))
    characters = max(LEAST_CHARACTERS, size.characters_of(room) - INSTRUCTIONS)
    for _ in range(SUMMARY_TRIES):
        parts = transcript.parts_of(replaced, characters=characters)
        try:
            return await _summarise_parts(
                writer, parts, budget.summary, answer, focus, turn, services
            )
        except ContextExceeded:
            characters = max(LEAST_CHARACTERS, characters // 2)
        except ModelError as error:
            # guard: context-refused-settings-of-the-agent
            if writer.is_own and isinstance(error, KeyRefused | ModelMisconfigured):
                raise
            # guard: context-outage-costs-no-history
            if writer.is_own and not writer.may_be_away and _is_passing(error):
                raise
            _log_failure(writer, error)
            break
    return ""


def _log_failure(writer: _Writer, error: ModelError) -> None:
    handles = {"model": writer.model, "code": error.code}
    logger.warning("a model could not write a summary", extra=handles)


def _is_passing(error: ModelError) -> bool:
    """Whether time may help. The turn pauses then, and the next one does without if it fails again."""
    is_empty = isinstance(error, EmptyReply)
    return isinstance(error, TimedOut) or (error.retryable and not is_empty)


def _answer_tokens(writer: _Writer, budget: Budget, turn: ActiveTurn) -> int:
    """The tokens that an answer may have: more than the summary, as many models count their reasoning too."""
    most = MAX_ANSWER_TOKENS if writer.is_own else MAX_ANSWER_TOKENS // 2
    return max(budget.summary, min(most, turn.profile.max_tokens, writer.window // 4))


def _thinking_tokens(writer: _Writer) -> float:
    budget = writer.parameters.get("thinking_budget")
    return budget if isinstance(budget, int | float) else 0


async def _summarise_parts(
    writer: _Writer,
    parts: list[str],
    tokens: int,
    answer: int,
    focus: str,
    turn: ActiveTurn,
    services: TurnServices,
) -> str:
    """One summary of all parts: each call extends the summary so far by the next part.

    A limit that is reached between two parts leaves the summary of the first ones.
    """
    summary = ""
    for number, part in enumerate(parts, 1):
        services.log.add(events.ContextCompacting(part=number, parts=len(parts)))
        request = summary_request(
            writer.model, writer.parameters, part, so_far=summary, focus=focus, tokens=tokens
        )
        request = replace(request, max_tokens=answer)
        try:
            reply = await ask_beside(turn, services, request, llm=writer.llm, purpose=PURPOSE)
        except TurnLimitReached:
            # guard: context-each-portion-gets-on
            if not summary:
                raise
            return (
                f"{summary}\n\n{UNREAD}"  # else the next portion of the limit would end here again
            )
        summary = transcript.shorten(reply.text.strip(), tokens * 8)
        if not summary:
            break
    return summary
