"""The tool with which the agent writes its to-do list."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import Field, field_validator

from paca.engine.todo_list import DONE, NOW, OPEN, TodoItem
from paca.engine.tools.base import (
    Effect,
    EncodableText,
    Tool,
    ToolArguments,
    ToolContext,
    ToolOutput,
)

MAX_ITEMS = 20
MAX_CHARACTERS = 200
# Models try the names that other products use for the same state and field.
_STATES = {
    **dict.fromkeys(("pending", "todo", "not_started", "not started", "planned"), OPEN),
    **dict.fromkeys(("in_progress", "in progress", "doing", "active", "current", "started"), NOW),
    **dict.fromkeys(("completed", "complete", "finished", "closed"), DONE),
}
_TEXTS = ("text", "content", "title", "task", "item")


class Item(ToolArguments):
    """One item of the list."""

    text: EncodableText
    state: Literal["open", "now", "done"]


class WriteTodoList(Tool["WriteTodoList.Arguments"]):
    """Write your to-do list, which people see, in place of the one before.

    Use it for work of several steps: before you begin, and when you begin or finish an item.
    """

    name = "write_todo_list"
    effect = Effect.IDEMPOTENT
    timeout_seconds = 1
    uses_workspace = False
    only_thinks = True

    class Arguments(ToolArguments):
        items: list[Item] = Field(
            description=f"All items, at most {MAX_ITEMS}, each in a few words. You work on the one that is now.",
        )

        @field_validator("items", mode="before")
        @classmethod
        def _read(cls, given: Any) -> Any:
            return _items(given) if isinstance(given, list) else given

    def subject(self, arguments: Arguments) -> str:
        return _progress(arguments.items)

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        items = [TodoItem(item.text, item.state) for item in arguments.items]
        written = context.todo.replaced(items, at=datetime.now(UTC).isoformat(timespec="seconds"))
        present = f" Now: {written.present}" if written.present else ""
        text = (
            f"The list has {_progress(arguments.items)}.{present}"
            if items
            else "The list is empty."
        )
        return ToolOutput(text, events=(written.as_event(context.call_id),))


def _progress(items: list[Item]) -> str:
    done = sum(item.state == DONE for item in items)
    return f"{done} of {len(items)} done" if items else "no items"


def _items(given: list[Any]) -> list[dict[str, str]]:
    """The items with the names of this tool. Raises ``ValueError`` if the list breaks a rule, and says which."""
    # guard: todo-at-most-twenty
    if len(given) > MAX_ITEMS:
        raise ValueError(f"at most {MAX_ITEMS} items, and there are {len(given)}: join small ones")
    items = [_item(each, number) for number, each in enumerate(given, 1)]
    present = [str(number) for number, item in enumerate(items, 1) if item["state"] == NOW]
    # guard: todo-one-in-progress
    if len(present) > 1:
        raise ValueError(f"at most one item with the state now, and items {', '.join(present)} have it")  # fmt: skip
    return items


def _item(given: Any, number: int) -> dict[str, str]:
    if isinstance(given, str):
        given = {"text": given}
    if not isinstance(given, dict):
        raise ValueError(f"an object with text and state as item {number}")
    text = next((given[name] for name in _TEXTS if isinstance(given.get(name), str)), "")
    line = " ".join(text.split())
    # guard: todo-texts-are-short
    if not line or len(line) > MAX_CHARACTERS:
        raise ValueError(f"a text of 1 to {MAX_CHARACTERS} characters in item {number}, which has {len(line)}")  # fmt: skip
    state = str(given.get("state") or given.get("status") or OPEN).strip().lower()
    state = _STATES.get(state, state)
    if state not in (OPEN, NOW, DONE):
        raise ValueError(f"open, now or done as the state of item {number}")
    return {"text": line, "state": state}
