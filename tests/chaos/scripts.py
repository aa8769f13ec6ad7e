"""Scripts of the model, one for each conversation: tool calls that leave a mark in the workspace."""

import random
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support import anthropic_dialect
from tests.support.model_script import Raw, Scripted, calls, says
from tests.support.model_server import ModelServer

EFFECTS = "effects.txt"
EFFECT = re.compile(rf"echo (\S+) >> {EFFECTS}")
MARK = re.compile(r"\[story (\S+)\]")
DONE = "All of it is done."
NOTES = "Notes on what came before."
ACCOUNT = "An account of what was done before the limit."


@dataclass(frozen=True)
class Script:
    """The model's replies in a conversation, by the number of earlier replies with tool calls.

    ``first`` holds replies that are given once, before the one of the same number. ``fails`` holds faults of
    one model alone, by its name at the provider and the number. ``opening`` is the first reply of all, however
    often it is asked for, if a summary later takes its place and the numbers begin anew.
    """

    mark: str
    replies: Sequence[Scripted]
    first: Mapping[int, Raw | Scripted] = field(default_factory=dict)
    fails: Mapping[tuple[str, int], Scripted] = field(default_factory=dict)
    opening: Scripted | None = None

    @property
    def first_message(self) -> str:
        """The message that starts the conversation and names its script."""
        return f"[story {self.mark}] Go."

    @property
    def expected_texts(self) -> list[str]:
        """The agent's messages when the conversation has ended."""
        return [part for reply in self.replies for part in reply.parts if isinstance(part, str)]


class ScriptedModel:
    """Answers requests of the model server from the script that the first message names."""

    def __init__(self, model: ModelServer) -> None:
        self._judged: dict[str, Script] = {}
        self._asked: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()
        model.script(self._reply)

    def add(self, script: Script) -> Script:
        self._judged[script.mark] = script
        return script

    def _reply(self, body: dict[str, Any]) -> Scripted | Raw:
        if not body.get("tools"):  # the agent always has tools; a request for a summary has none
            return says(NOTES)
        if body.get("tool_choice") == {"type": "none"}:  # the summary at a limit
            return says(ACCOUNT)
        messages = anthropic_dialect.conversation(body)
        mark = MARK.search(anthropic_dialect.text_of(messages[0]))
        assert mark is not None
        script = self._judged[mark[1]]
        position = sum(
            m["role"] == "assistant" for m in messages if anthropic_dialect.is_tool_turn(m)
        )
        if script.opening and position == 0 and NOTES not in str(messages):
            return script.opening
        if fault := script.fails.get((body["model"], position)):
            return fault
        with self._lock:
            self._asked[script.mark, position] += 1
            is_first = self._asked[script.mark, position] == 1
        if is_first and position in script.first:
            return script.first[position]
        return script.replies[position]


def marking_command(mark: str, *, seconds: float = 0) -> str:
    """A command that leaves a mark when it begins and one when it ends."""
    pause = f"sleep {seconds:.2f}; " if seconds else ""
    return f"echo {mark}.begun >> {EFFECTS}; {pause}echo {mark}.ended >> {EFFECTS}; echo whole"


def random_script(
    mark: str, chance: random.Random, *, steps: int, long: float, lease: float
) -> Script:
    """Random commands. The share ``long`` of them lasts two to three leases; some replies have two."""
    replies = []
    for step in range(steps):
        lasts = [
            chance.uniform(2 * lease, 3 * lease)
            if chance.random() < long
            else chance.uniform(0, 0.4)
            for _ in range(chance.choice((1, 1, 1, 2)))
        ]
        commands = [
            marking_command(f"{mark}.{step}.{n}", seconds=each) for n, each in enumerate(lasts)
        ]
        replies.append(says(f"Step {step}.") + calls(bash=commands))
    return Script(mark, [*replies, says(DONE)])
