"""Changes how a conversation runs: whether its model calls are traced, plan mode, and teams."""

from django.conf import settings
from django.db import transaction

from paca import events
from paca.common.errors import Conflict
from paca.conversations import store
from paca.conversations.models import Conversation
from paca.conversations.services import helpers, plans
from paca.conversations.services.inbox import lock
from paca.projects.models import Member


class TracingForbidden(Conflict):
    """This installation keeps no traces. An administrator allows them with TRACING=on."""

    code = "tracing_forbidden"


@transaction.atomic
def set_flags(
    conversation: Conversation,
    *,
    by: Member,
    tracing: bool | None = None,
    plan: bool | None = None,
    teams: bool | None = None,
) -> None:
    """Switch the trace of the conversation and the tools for a team from the next turn on, and plan mode; None changes
    nothing.

    Raises ``TracingForbidden`` if the installation keeps no traces.
    """
    helpers.refuse_helper(conversation)
    if plan is not None:
        plans.set_mode(conversation, on=plan, by=by)
    if teams is not None:
        _set_teams(conversation, on=teams, by=by)
    if tracing is None:
        return
    # guard: installation-forbids-traces
    if tracing and not settings.TRACING:
        raise TracingForbidden
    current = lock(conversation)
    if tracing != current.tracing:
        store.append(current.pk, events.FlagsChanged(tracing=tracing, by=by.name))


def _set_teams(conversation: Conversation, *, on: bool, by: Member) -> None:
    current = lock(conversation)
    if on != current.teams:
        store.append(current.pk, events.FlagsChanged(teams=on, by=by.name))
