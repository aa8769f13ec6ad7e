"""Assembles tool calls from their pieces, in all forms that servers send.

As OpenAI documents it, each piece has an index, and the first one also an id and the name. Servers
also send no index, index 0 for all calls, the id on each piece or on none, the name in two pieces
or repeated, and arguments as an object, as null, or not at all.
"""

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

from paca.engine.llm import strict_parsing
from paca.engine.llm.base import ToolUse
from paca.engine.llm.model_errors import StreamBroken
from paca.engine.llm.openai import attachments


@dataclass(slots=True)
class _PartialCall:
    """A call that is not complete yet. ``given`` are arguments that came as one object."""

    index: int | None
    id: str
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    given: dict[str, Any] | None = None
    attached: dict[str, Any] = field(default_factory=dict)
    problem: str = ""

    @property
    def raw(self) -> str:
        return "".join(self.pieces)

    @property
    def has_arguments(self) -> bool:
        return self.given is not None or bool(self.raw.strip())

    def add_piece(self, function: dict[str, Any]) -> None:
        self._add_name(function.get("name") or "")
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            if self.has_arguments and self.given != arguments:
                self.problem = "They came in two forms."
            self.given = arguments
        elif isinstance(arguments, str):
            self.pieces.append(arguments)
        elif arguments is not None:
            raise TypeError(arguments)

    def _add_name(self, piece: str) -> None:
        if piece in ("", self.name):  # some servers repeat the name on each piece
            return
        if self.has_arguments:
            raise StreamBroken("The model's call changed its name.")
        self.name += piece


class ToolCallAssembler:
    """The tool calls of one reply, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_PartialCall] = []

    def take(self, piece: dict[str, Any]) -> None:
        """Take one entry of a ``tool_calls`` list. Raises ``TypeError`` if its index or id is malformed."""
        function = piece.get("function") or {}
        index, given_id = piece.get("index"), piece.get("id") or ""
        if not isinstance(index, int | None) or not isinstance(given_id, str):
            raise TypeError(piece)
        call = self._find(index, given_id, function.get("name") or "")
        call.add_piece(function)
        attachments.merge(call.attached, attachments.of_call(piece))

    def finish(self, family: str) -> tuple[ToolUse, ...]:
        """All calls of the reply. ``family`` is that of the model, which gets what is attached back.

        Arguments that cannot be read are a problem of their call. Raises ``StreamBroken`` for a call
        without a name.
        """
        return tuple(_finished_call(call, family) for call in self._calls)

    def __bool__(self) -> bool:
        return bool(self._calls)

    def _find(self, index: int | None, given_id: str, name: str) -> _PartialCall:
        """The call that this piece belongs to, or a new one."""
        for call in reversed(self._calls):
            if _belongs(call, index, given_id, name):
                call.id = call.id or given_id
                return call
            if index is None and not given_id:
                break  # a piece without index and id can only belong to the newest call
        call = _PartialCall(index, given_id)
        self._calls.append(call)
        return call


def _belongs(call: _PartialCall, index: int | None, given_id: str, name: str) -> bool:
    if given_id and call.id:
        return given_id == call.id and (index is None or call.index in (None, index))
    if index is not None and call.index is not None and index != call.index:
        return False
    # With the same index and no id, a name after arguments begins another call.
    return not (name and call.has_arguments and (name != call.name or _is_whole(call)))


def _is_whole(call: _PartialCall) -> bool:
    if call.given is not None:
        return True
    try:
        json.loads(call.raw)
    except ValueError:
        return False
    return True


def _finished_call(call: _PartialCall, family: str) -> ToolUse:
    name = strict_parsing.tool_name(call.name)
    attached = attachments.storable(family, call.attached)
    raw = call.raw.strip() if call.given is None else json.dumps(call.given)
    arguments, problem = strict_parsing.arguments_or_problem(raw)
    if call.problem:
        arguments, problem = {}, call.problem
    return ToolUse(uuid.uuid4().hex, name, arguments, problem, attached)
