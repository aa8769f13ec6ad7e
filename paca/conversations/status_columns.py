"""Updates of a column with a status by SQL, which keep to the moves that the status may make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paca.conversations.models.statuses import IllegalStatusMove, statuses_before


@dataclass(frozen=True, slots=True)
class StatusColumn:
    """The column with the status of a ``subject``, and the moves that the status may make."""

    subject: str
    table: str
    name: str
    moves: Mapping[Any, tuple[Any, ...]]

    def move(self, cursor: Any, status: Any, *, where: dict[str, Any], **changes: Any) -> None:
        """Give the row at ``where`` this status and these other columns. No such row is no error.

        Raises ``IllegalStatusMove`` if its present status may not go to this one.
        """
        if self.move_all(cursor, status, where=where, **changes):
            return
        condition = " AND ".join(f"{name} = %s" for name in where)
        cursor.execute(
            f"SELECT {self.name} FROM {self.table} WHERE {condition}",  # noqa: S608 - fixed names
            [*where.values()],
        )
        row = cursor.fetchone()
        # guard: turns-and-calls-move-as-allowed
        if row is not None:
            raise IllegalStatusMove(f"{self.subject} cannot go from {row[0]} to {status.value}.")

    def move_all(self, cursor: Any, status: Any, *, where: dict[str, Any], **changes: Any) -> int:
        """Move those rows at ``where`` that may go to this status; gives their number.

        Raises ``IllegalStatusMove`` if no row may ever go to it.
        """
        assignments = ", ".join(f"{name} = %s" for name in (self.name, *changes))
        condition = " AND ".join(f"{name} = %s" for name in where)
        before = statuses_before(status, self.moves)
        allowed = ", ".join(["%s"] * len(before))
        cursor.execute(
            f"UPDATE {self.table} SET {assignments}"  # noqa: S608 - fixed names
            f" WHERE {condition} AND {self.name} IN ({allowed})",
            [status.value, *changes.values(), *where.values(), *(each.value for each in before)],
        )
        return int(cursor.rowcount)
