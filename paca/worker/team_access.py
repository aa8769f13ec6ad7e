"""The way of a running agent to its team: each call is one transaction, by its lease and once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.utils import timezone

from paca.common.errors import Conflict
from paca.conversations.models import Conversation, Teammate
from paca.conversations.services.teams import board, members, messages, protocols, settling, texts
from paca.engine import helper_allowance
from paca.engine.limits import TurnLimits
from paca.engine.teams import requests
from paca.engine.tools.base import ToolArguments, ToolOutput
from paca.projects.models import Member
from paca.projects.tools import lookup
from paca.projects.tools.base import REFUSALS, Caller, refusal
from paca.worker.project_access import RunProjectAccess
from paca.worker.run_log import RunLog
from paca.worker.turn_models import beginner_of


class NoTeam(Conflict):
    """This conversation has no team."""

    code = "no_team"


class RunTeamAccess:
    """Implements ``engine.teams.tools.TeamAccess`` for one claimed conversation.

    What is left of the ``limits`` of the running turn is for the teammates that it spawns.
    """

    def __init__(
        self, access: RunProjectAccess, log: RunLog, limits: Callable[[], TurnLimits]
    ) -> None:
        self._access, self._log, self._limits = access, log, limits

    async def do(
        self, call_id: str, arguments: ToolArguments, *, tool: str, writes_tasks: bool = False
    ) -> ToolOutput:
        """Raises database errors, and ``Fenced`` if the lease is lost."""
        permission = "tasks:write" if writes_tasks else "conversations:write"
        left = helper_allowance.left_for_team(self._limits(), self._log.progress)
        act = functools.partial(perform, tool=tool, arguments=arguments, allowance=left)
        try:
            return ToolOutput(await self._access.write(call_id, permission, act))
        except REFUSALS as error:
            return refusal(error)

    async def find_result(self, call_id: str) -> str | None:
        """Raises database errors."""
        return await self._access.find_result(call_id)


def perform(
    caller: Caller,
    *,
    tool: str,
    arguments: Any,
    allowance: dict[str, Any] | None,
) -> str:
    """Carry out a call, and give its text. The project is locked; the lead is locked here, before its teammates.

    Raises ``NoTeam`` if a teammate has ended, else ``Conflict`` or ``NotFound`` with a text for the model; nothing is
    written then.
    """
    own = Conversation.objects.values_list("pk", "parent").get(pk=caller.conversation_id)
    rows = Conversation.objects.select_related("agent", "triggered_by").for_update()
    lead = rows.get(pk=own[1] or own[0])
    settling.settle_soon(lead.pk)
    if own[1] is None:
        if tool == "spawn_teammate":
            return _spawn(lead, arguments, allowance)
        return _AS_LEAD[tool](caller, lead, arguments)
    mates = Teammate.objects.live().select_related("conversation")
    mate = mates.filter(conversation=own[0]).first()
    if mate is None:
        raise NoTeam("You are no longer in a team. End your turn.")
    mate.lead = lead
    return _AS_TEAMMATE[tool](caller, mate, arguments)


# --- the lead ---------------------------------------------------------------------------------------


def _spawn(lead: Conversation, wanted: requests.Spawn, allowance: dict[str, Any] | None) -> str:
    beginner = beginner_of(lead).member_id
    mate = members.spawn(
        lead,
        wanted,
        allowance=allowance,
        actor=Member.objects.filter(pk=beginner).first() if beginner else None,
    )
    return f"{mate.name} works. Its answer comes to you by itself; end your turn to wait for it."


def _list_team(caller: Caller, lead: Conversation, _: requests.Nothing) -> str:
    return members.listing(lead)


def _send(caller: Caller, lead: Conversation, wanted: requests.Message) -> str:
    return _sent(messages.send(lead, sender=None, to=wanted.to, text=wanted.text))


def _sent(receivers: list[str]) -> str:
    return f"Sent to {', '.join(receivers)}."


def _read_inbox(caller: Caller, lead: Conversation, _: requests.Nothing) -> str:
    return messages.read_inbox(lead)


def _add_tasks(caller: Caller, lead: Conversation, wanted: requests.AddTasks) -> str:
    board.add(lead, lookup.tasks(caller.project, wanted.tasks), member=caller.member)
    return members.listing(lead)


def _shut_down(caller: Caller, lead: Conversation, wanted: requests.Shutdown) -> str:
    mate = members.named(lead, wanted.name)
    protocols.ask_to_end(mate, wanted.reason, now=timezone.now())
    return f"Asked. The answer of {mate.name} comes to you by itself."


def _review_plan(caller: Caller, lead: Conversation, wanted: requests.PlanReview) -> str:
    mate = members.named(lead, wanted.name)
    protocols.review_plan(
        mate, lead, approve=wanted.approve, feedback=wanted.feedback, now=timezone.now()
    )
    return f"{mate.name} hears of it{' and works' if wanted.approve else ''}."


# --- a teammate -------------------------------------------------------------------------------------


def _list_as_teammate(caller: Caller, mate: Teammate, _: requests.Nothing) -> str:
    return members.listing(mate.lead)


def _send_as_teammate(caller: Caller, mate: Teammate, wanted: requests.Message) -> str:
    return _sent(messages.send(mate.lead, sender=mate, to=wanted.to, text=wanted.text))


def _read_as_teammate(caller: Caller, mate: Teammate, _: requests.Nothing) -> str:
    return messages.read_inbox(mate.conversation)


def _claim(caller: Caller, mate: Teammate, wanted: requests.ClaimTask) -> str:
    task = lookup.task(caller.project, wanted.task)
    claimed = board.claim(mate, mate.lead, task, member=caller.member, now=timezone.now())
    messages.tell(mate, "working", task=claimed.key)
    return texts.claimed(claimed)


def _submit_plan(caller: Caller, mate: Teammate, wanted: requests.Plan) -> str:
    protocols.submit_plan(mate, mate.lead, wanted.plan, now=timezone.now())
    return "Sent to the lead. End your turn now: its decision wakes you."


def _answer_shutdown(caller: Caller, mate: Teammate, wanted: requests.ShutdownAnswer) -> str:
    protocols.answer_end(
        mate, mate.lead, agrees=wanted.agree, reason=wanted.reason, now=timezone.now()
    )
    return "You end with this turn." if wanted.agree else "The lead hears of it. Go on."


_AS_LEAD: dict[str, Callable[[Caller, Conversation, Any], str]] = {
    "list_team": _list_team,
    "send_message": _send,
    "read_inbox": _read_inbox,
    "add_team_tasks": _add_tasks,
    "shut_down_teammate": _shut_down,
    "review_plan": _review_plan,
}
_AS_TEAMMATE: dict[str, Callable[[Caller, Teammate, Any], str]] = {
    "list_team": _list_as_teammate,
    "send_message": _send_as_teammate,
    "read_inbox": _read_as_teammate,
    "claim_task": _claim,
    "submit_plan": _submit_plan,
    "answer_shutdown": _answer_shutdown,
}
