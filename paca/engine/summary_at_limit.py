"""The summary that the model writes when a limit ends its turn."""

from __future__ import annotations

from dataclasses import replace

from paca.engine.before_call import bound_of_next_call
from paca.engine.limits import ReachedLimit, TurnLimitReached
from paca.engine.llm.model_errors import ModelError
from paca.engine.think import think
from paca.engine.time_limit import within_time
from paca.engine.turn import ActiveTurn, TurnServices, outcome_of_model_error

# At a budget the summary is short, so that it fits into what is left.
SUMMARY_TOKENS = 1024
SECONDS_AFTER_THE_TIME_LIMIT = 30.0


def may_summarise(turn: ActiveTurn, services: TurnServices) -> bool:
    """Whether the turn has something to sum up, and every budget has room for a summary.

    With budgets the answers of the turn are short from here on.
    """
    progress = services.log.progress
    # guard: engine-one-summary
    if not progress.steps or progress.summarising:
        return False
    limits = turn.profile.limits
    if not limits.has_budgets:
        return True
    turn.profile = replace(turn.profile, max_tokens=min(turn.profile.max_tokens, SUMMARY_TOKENS))
    turn.next_call = bound_of_next_call(turn, services)
    # guard: engine-summary-fits-into-the-budget
    return not any(budget.refuses(turn.next_call) for budget in limits.budgets(progress))


async def summarise(limit: ReachedLimit, turn: ActiveTurn, services: TurnServices) -> None:
    """Ask for a summary without tools.

    After the time limit it may take 30 seconds more; at another limit it keeps the time limit. A model that
    does not answer leaves the turn without a summary. Raises ``ModelError`` if a person has to repair something.
    """
    more = SECONDS_AFTER_THE_TIME_LIMIT if limit.reason == "time_limit" else 0.0
    try:
        await within_time(turn, think(turn, services, may_call=False), more=more)
    except TurnLimitReached:
        return
    except ModelError as error:
        # The limit has ended the turn, so the pause names it and not a passing fault of the summary.
        # guard: engine-limit-outlives-its-summary
        if outcome_of_model_error(error, turn.profile).status == "failed":
            raise
