"""What the scripted model does in each conversation: tool calls that leave their mark in the workspace."""

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


@dataclass(frozen=True)
class Story:
    """Its replies by the number of replies with calls before. What is in ``first`` is said once, before."""

    mark: str
    replies: Sequence[Scripted]
    first: Mapping[int, Raw | Scripted] = field(default_factory=dict)

    @property
    def opening(self) -> str:
        """The message that a person begins it with."""
        return f"[story {self.mark}] Go."

    @property
    def words(self) -> list[str]:
        """What the agent has said when all is over."""
        return [part for reply in self.replies for part in reply.parts if isinstance(part, str)]


class Stories:
    """Answers the model server's requests, each from the story that its first message names."""

    def __init__(self, model: ModelServer) -> None:
        self._told: dict[str, Story] = {}
        self._asked: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()
        model.script(self._reply)

    def add(self, story: Story) -> Story:
        self._told[story.mark] = story
        return story

    def _reply(self, body: dict[str, Any]) -> Scripted | Raw:
        messages = anthropic_dialect.conversation(body)
        mark = MARK.search(anthropic_dialect.text_of(messages[0]))
        assert mark is not None
        story = self._told[mark[1]]
        position = sum(
            m["role"] == "assistant" for m in messages if anthropic_dialect.is_tool_turn(m)
        )
        with self._lock:
            self._asked[story.mark, position] += 1
            is_first = self._asked[story.mark, position] == 1
        if is_first and position in story.first:
            return story.first[position]
        return story.replies[position]


def leaves(mark: str, *, seconds: float = 0) -> str:
    """A command that leaves a mark when it begins and one when it ends."""
    pause = f"sleep {seconds:.2f}; " if seconds else ""
    return f"echo {mark}.begun >> {EFFECTS}; {pause}echo {mark}.ended >> {EFFECTS}; echo whole"


def working(mark: str, chance: random.Random, *, steps: int, long: float, lease: float) -> Story:
    """Commands, of which this share lasts two to three times the lease; now and then two in a reply."""
    replies = []
    for step in range(steps):
        lasts = [
            chance.uniform(2 * lease, 3 * lease)
            if chance.random() < long
            else chance.uniform(0, 0.4)
            for _ in range(chance.choice((1, 1, 1, 2)))
        ]
        commands = [leaves(f"{mark}.{step}.{n}", seconds=each) for n, each in enumerate(lasts)]
        replies.append(says(f"Step {step}.") + calls(bash=commands))
    return Story(mark, [*replies, says(DONE)])
