"""Reminds the model in a running turn, if its agent wants that."""

from __future__ import annotations

from paca import events
from paca.engine.budgets import Amounts
from paca.engine.limits import WARN_AT_USED_PART
from paca.engine.reminders import DEFAULT_VERIFICATION, HINT, VERIFICATION, VerificationPolicy
from paca.engine.turn import ActiveTurn, TurnServices


def give_hint(turn: ActiveTurn, services: TurnServices) -> None:
    """Add the hint of the agent behind the newest message, once a turn and again after a summary.

    It is an event of the log, so that each later request has it at the same place and the provider's cache holds.
    """
    hint = turn.profile.hint.strip()
    # guard: engine-one-hint-a-turn
    if hint and not services.log.progress.reminders.hinted:
        services.log.add(events.ReminderGiven(kind=HINT, text=hint))


async def asks_to_verify(turn: ActiveTurn, services: TurnServices) -> bool:
    """Ask the model, once a turn, to check the work that it has just told; True if it was asked.

    The answer and the request are stored in one transaction. A turn without room for another step ends with its
    answer: a limit must not take from people what is done.
    """
    if not _is_due(turn, services) or not _has_room(turn, services):
        return False
    text = turn.profile.verification_prompt.strip() or DEFAULT_VERIFICATION
    await services.log.commit(events.ReminderGiven(kind=VERIFICATION, text=text))
    return True


def _is_due(turn: ActiveTurn, services: TurnServices) -> bool:
    profile, progress = turn.profile, services.log.progress
    # guard: engine-verification-is-off-by-default
    if profile.demo or profile.verification == VerificationPolicy.OFF:
        return False
    # guard: engine-verification-where-nobody-watches
    if profile.verification == VerificationPolicy.UNATTENDED and (
        not profile.unattended or progress.chatting
    ):
        return False
    # guard: engine-one-verification
    return progress.reminders.changed and not progress.reminders.verified


def _has_room(turn: ActiveTurn, services: TurnServices) -> bool:
    """Whether the limits allow another step, as far as is known: the reply that has come is not booked yet."""
    limits, progress = turn.profile.limits, services.log.progress
    if progress.steps + 1 >= limits.steps:
        return False
    if limits.seconds is not None and turn.seconds >= WARN_AT_USED_PART * limits.seconds:
        return False
    call = turn.next_call
    both = Amounts(2 * call.tokens, 2 * call.cost_usd)
    # guard: engine-verification-needs-room
    return not any(budget.refuses(both) for budget in limits.budgets(progress))
