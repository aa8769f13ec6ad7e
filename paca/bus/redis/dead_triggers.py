"""The stream of refused entries: reads them, tries them again, or drops them."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import redis

from paca.bus.redis import names
from paca.bus.redis.connection import connect
from paca.bus.redis.consumer_group import FIRST_ENTRY_ID, Fields
from paca.common.errors import PacaError

# What Paca has added to the fields of the other program.
ADDED = (b"reason", b"entry_id", b"cut")


class BusUnavailable(PacaError):
    """Redis does not answer or refuses this. Nothing was changed; try again later."""

    code = "unavailable"
    status = 503


@dataclass(frozen=True, slots=True)
class DeadTrigger:
    """A refused entry. ``id`` is its id in the dead stream, ``entry_id`` that of its program.

    ``is_cut``: it was too large to be kept whole, so it cannot be tried again.
    """

    id: str
    entry_id: str
    reason: str
    fields: dict[str, str]
    is_cut: bool

    @property
    def refused_at(self) -> datetime:
        """When it was refused, by the clock of Redis."""
        return datetime.fromtimestamp(int(self.id.partition("-")[0]) / 1000, UTC)


class DeadTriggers:
    """The dead stream of a Redis. Each method raises ``BusUnavailable`` if Redis fails."""

    def __init__(self, url: str) -> None:
        self._url = url

    def count(self) -> int:
        """How many refused entries are kept."""
        with self._client() as client:
            return int(client.xlen(names.DEAD_TRIGGERS))

    def newest(self, limit: int, *, before: str = "") -> list[DeadTrigger]:
        """At most ``limit`` entries, the newest first; only those older than the id ``before``."""
        with self._client() as client:
            newest = f"({before}" if before else "+"
            found: Any = client.xrevrange(names.DEAD_TRIGGERS, max=newest, count=limit)
            return [_read(*entry) for entry in found]

    def find(self, dead_id: str) -> DeadTrigger | None:
        """The entry with this id of the dead stream, if it is still there."""
        with self._client() as client:
            found: Any = client.xrange(names.DEAD_TRIGGERS, dead_id, dead_id)
            return _read(*found[0]) if found else None

    def retry(self, dead_id: str) -> bool:
        """Add the entry to the trigger stream again, and remove it here; False if it is gone or cut.

        Its result names the id under which its program added it first.
        """
        with self._client() as client:
            found: Any = client.xrange(names.DEAD_TRIGGERS, dead_id, dead_id)
            if not found or b"cut" in found[0][1]:
                return False
            fields: Fields = found[0][1]
            original = {name: value for name, value in fields.items() if name not in ADDED}
            original[FIRST_ENTRY_ID] = fields.get(b"entry_id", b"")
            move: Any = client.pipeline(transaction=True)
            move.xadd(names.TRIGGERS, original)
            move.xdel(names.DEAD_TRIGGERS, dead_id)
            move.execute()
            return True

    def drop(self, dead_id: str) -> bool:
        """Remove the entry for good; False if it is gone."""
        with self._client() as client:
            return bool(client.xdel(names.DEAD_TRIGGERS, dead_id))

    @contextmanager
    def _client(self) -> Iterator[redis.Redis]:
        try:
            with closing(connect(self._url, name="paca-dead-triggers")) as client:
                yield client
        except (redis.RedisError, OSError) as error:
            raise BusUnavailable(
                f"Redis does not do this: {error}. Nothing was changed."
            ) from error


def _read(dead_id: bytes, fields: Fields) -> DeadTrigger:
    texts = {name.decode(errors="replace"): _text(value) for name, value in fields.items()}
    return DeadTrigger(
        id=dead_id.decode(),
        entry_id=texts.pop("entry_id", ""),
        reason=texts.pop("reason", ""),
        is_cut=texts.pop("cut", None) is not None,
        fields=texts,
    )


def _text(value: bytes) -> str:
    return value.decode(errors="replace")
