"""The to-do list of a conversation: what the agent has written last, as a fold over the log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paca import events

OPEN, NOW, DONE = "open", "now", "done"
_MARKS = {OPEN: "[ ]", NOW: "[now]", DONE: "[done]"}


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One item of the list. ``state`` is open, now or done."""

    text: str
    state: str = OPEN


@dataclass(frozen=True, slots=True)
class TodoList:
    """The items in their order. ``since`` is when the agent has begun the present one; empty if there is none."""

    items: tuple[TodoItem, ...] = ()
    since: str = ""

    @property
    def present(self) -> str:
        """The text of the item that the agent works on; empty if there is none."""
        return next((item.text for item in self.items if item.state == NOW), "")

    @property
    def done(self) -> int:
        """The number of items that are done."""
        return sum(item.state == DONE for item in self.items)

    def replaced(self, items: Iterable[TodoItem], *, at: str) -> TodoList:
        """The list with these items. ``at`` is the time, which counts for an item that the agent begins now."""
        new = TodoList(tuple(items))
        if not new.present:
            return new
        # guard: todo-time-of-the-present-item
        is_same = new.present == self.present and self.since
        return TodoList(new.items, self.since if is_same else at)

    def as_event(self, call_id: str) -> events.TodoChanged:
        """The event of a call that has written this list."""
        items = [{"text": item.text, "state": item.state} for item in self.items]
        return events.TodoChanged(items=items, since=self.since, call_id=call_id)

    def in_words(self) -> str:
        """The list as its agent reads it, one item a line; empty if it has none."""
        return "\n".join(f"- {_MARKS.get(item.state, '[ ]')} {item.text}" for item in self.items)


def list_of(event: events.TodoChanged) -> TodoList:
    """The list that the event tells."""
    items = (TodoItem(str(each.get("text", "")), str(each.get("state", OPEN))) for each in event.items)  # fmt: skip
    return TodoList(tuple(items), event.since)
