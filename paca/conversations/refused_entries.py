"""Entries of other programs that were refused: how many there are, and what an administrator does with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction

from paca.accounts import audit
from paca.common.errors import NotFound
from paca.common.text import to_storable

if TYPE_CHECKING:  # redis is imported only where it is used
    from paca.bus.redis.dead_triggers import DeadTrigger, DeadTriggers

MAX_FACT_CHARACTERS = 300


def count() -> int:
    """How many refused entries are kept. Raises ``BusUnavailable`` if Redis does not answer."""
    return _dead_triggers().count() if settings.REDIS_URL else 0


def newest(limit: int, *, before: str = "") -> list[DeadTrigger]:
    """At most ``limit`` refused entries, the newest first; only those older than the id ``before``.

    Raises ``BusUnavailable`` if Redis does not answer.
    """
    return _dead_triggers().newest(limit, before=before) if settings.REDIS_URL else []


def retry(dead_id: str, *, by: audit.HasActor) -> None:
    """Give the entry to the workers again.

    Raises ``NotFound`` if it is gone or was not kept whole, ``BusUnavailable`` if Redis does not do it.
    """
    _change("trigger.retried", dead_id, by, lambda entries: entries.retry(dead_id))


def drop(dead_id: str, *, by: audit.HasActor) -> None:
    """Remove the entry for good.

    Raises ``NotFound`` if it is gone, ``BusUnavailable`` if Redis does not do it.
    """
    _change("trigger.dropped", dead_id, by, lambda entries: entries.drop(dead_id))


@transaction.atomic
def _change(
    action: str, dead_id: str, by: audit.HasActor, change: Callable[[DeadTriggers], bool]
) -> None:
    """Change Redis last: if it fails, the audit entry is rolled back. If the process dies between the
    two, the change is done and its audit entry is missing.
    """
    entries = _dead_triggers()
    found = entries.find(dead_id)
    if found is None:
        raise NotFound("This entry is gone: somebody else has retried or dropped it.")
    audit.record(
        action,
        audit.OutsideObject("redis.trigger", dead_id, f"entry {found.entry_id}"),
        by=by,
        reason=to_storable(found.reason)[:MAX_FACT_CHARACTERS],
        project=to_storable(found.fields.get("project_id", ""))[:MAX_FACT_CHARACTERS],
    )
    if not change(entries):
        raise NotFound("This entry is gone, or too large to have been kept whole.")


def _dead_triggers() -> DeadTriggers:
    from paca.bus.redis.dead_triggers import DeadTriggers

    return DeadTriggers(settings.REDIS_URL)
