"""Puts the pieces of tool calls together, in all the shapes in which servers send them.

What OpenAI documents: each piece has an index; the first also an id and the name. What is seen in
the wild: no index, index 0 for all, the id on each piece or on none, the name in two pieces or
repeated, arguments as an object, as null, or not at all.
"""

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

from paca.engine.llm import strict_parsing
from paca.engine.llm.base import StreamBroken, ToolUse


@dataclass(slots=True)
class _Growing:
    """A call while it grows. ``given`` are arguments that came whole, as an object."""

    index: int | None
    id: str
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    given: dict[str, Any] | None = None

    @property
    def raw(self) -> str:
        return "".join(self.pieces)

    @property
    def has_arguments(self) -> bool:
        return self.given is not None or bool(self.raw.strip())

    def grow(self, function: dict[str, Any]) -> None:
        self._name(function.get("name") or "")
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            if self.has_arguments and self.given != arguments:
                raise StreamBroken("The model's call has arguments of two kinds.")
            self.given = arguments
        elif isinstance(arguments, str):
            self.pieces.append(arguments)
        elif arguments is not None:
            raise TypeError(arguments)

    def _name(self, piece: str) -> None:
        if piece in ("", self.name):  # some repeat the whole name on each piece
            return
        if self.has_arguments:
            raise StreamBroken("The model's call changed its name.")
        self.name += piece


class Calls:
    """The calls of one reply, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_Growing] = []

    def take(self, piece: dict[str, Any]) -> None:
        """One entry of a ``tool_calls`` list."""
        function = piece.get("function") or {}
        index, given_id = piece.get("index"), piece.get("id") or ""
        if not isinstance(index, int | None) or not isinstance(given_id, str):
            raise TypeError(piece)
        self._find(index, given_id, function.get("name") or "").grow(function)

    def finish(self) -> tuple[ToolUse, ...]:
        """All calls, or an error: one that does not parse spoils the reply."""
        return tuple(_made(call) for call in self._calls)

    def __bool__(self) -> bool:
        return bool(self._calls)

    def _find(self, index: int | None, given_id: str, name: str) -> _Growing:
        """The call that this piece belongs to; a new one if it fits none."""
        for call in reversed(self._calls):
            if _belongs(call, index, given_id, name):
                call.id = call.id or given_id
                return call
            if index is None and not given_id:
                break  # without any mark a piece can only go on with the newest call
        call = _Growing(index, given_id)
        self._calls.append(call)
        return call


def _belongs(call: _Growing, index: int | None, given_id: str, name: str) -> bool:
    if given_id and call.id:
        return given_id == call.id and (index is None or call.index in (None, index))
    if index is not None and call.index is not None and index != call.index:
        return False
    # The same place and no id to tell by: a name after arguments begins the next call.
    return not (name and call.has_arguments and (name != call.name or _is_whole(call)))


def _is_whole(call: _Growing) -> bool:
    if call.given is not None:
        return True
    try:
        json.loads(call.raw)
    except ValueError:
        return False
    return True


def _made(call: _Growing) -> ToolUse:
    name = strict_parsing.tool_name(call.name)
    if call.given is not None:
        strict_parsing.arguments(json.dumps(call.given), name)
        return ToolUse(uuid.uuid4().hex, name, call.given)
    raw = call.raw.strip()
    arguments = {} if raw in ("", "null") else strict_parsing.arguments(raw, name)
    return ToolUse(uuid.uuid4().hex, name, arguments)
