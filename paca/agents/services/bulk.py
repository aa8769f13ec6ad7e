"""Makes many agents at once: all of them, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from paca.accounts import audit
from paca.agents.models import Agent
from paca.agents.services import agents
from paca.common.errors import Invalid, PacaError
from paca.projects.models import Project

MAX_AGENTS = 50


@transaction.atomic
def create(
    project: Project, rows: Sequence[Mapping[str, Any]], *, by: audit.HasActor | None
) -> list[Agent]:
    """Make an agent of each row, which has the arguments of ``agents.create``. Gives them in this order.

    Raises ``Invalid`` if there are none or too many. It also raises ``Invalid`` if one cannot be made; its fields then
    name the problem of each such row, as in ``2.handle``, and no agent was made.
    """
    if not 1 <= len(rows) <= MAX_AGENTS:
        raise Invalid(fields={"agents": [f"Give 1 to {MAX_AGENTS} agents."]})
    made: list[Agent] = []
    problems: dict[str, list[str]] = {}
    for number, row in enumerate(rows):
        try:
            # A savepoint: a row that fails leaves nothing, and the others are still tried.
            with transaction.atomic():
                made.append(agents.create(project, by=by, **row))
        except PacaError as error:
            problems.update(_problems_of(number, error))
    # guard: bulk-makes-all-or-none
    if problems:
        raise Invalid("No agent was made: some rows cannot be used.", fields=problems)
    return made


def _problems_of(number: int, error: PacaError) -> dict[str, list[str]]:
    fields = error.fields if isinstance(error, Invalid) else {}
    if not fields:
        return {f"{number}.agent_type": [error.detail]}
    return {f"{number}.{field}": texts for field, texts in fields.items()}
