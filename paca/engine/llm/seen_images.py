"""Which images of the history a model gets: none if it cannot see, and none that its provider has refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from paca.engine.llm import providers
from paca.engine.llm.base import Block, Message, ToolResult
from paca.engine.llm.model_errors import ContextExceeded, ModelError

# A request with more than this of images is too long for their sake: providers take about 20 to 32 MB.
MANY_IMAGES_CHARACTERS = 16 << 20
# Models that are in no list, such as those of own servers, tell it by their names.
SEEING_NAMES = re.compile(
    r"claude-|gemini|gpt-4o|gpt-4\.1|gpt-[5-9]|pixtral|llava|moondream|molmo|gemma-?[34]|llama-?4"
    r"|grok-[4-9]|(?<![a-z])vl(?![a-z])|qwen[\d.]*-?vl|internvl|vision|minicpm-?v|glm-[\d.]+v",
    re.I,
)


def can_see(provider: str, model: str) -> bool:
    """Whether a model takes images: as the list of models says, else as its name does."""
    facts = providers.models().get(f"{provider}/{model}")
    return bool(facts.get("sees")) if facts else SEEING_NAMES.search(model) is not None


class SeenImages:
    """The images that the model of one run gets."""

    def __init__(self) -> None:
        self._dropped: tuple[Message, int] | None = None

    def of(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages without the images that were dropped."""
        if self._dropped is None or self._dropped[0] != messages[0]:
            return messages
        count = self._dropped[1]
        return without_images(messages[:count]) + messages[count:]

    def drop_refused(self, messages: tuple[Message, ...], refusal: ModelError) -> bool:
        """Leave out the images of these messages from now on; False if they are not what was refused, or are left out.

        A provider refuses the whole request for one image that it cannot read or that has too many pixels. It
        stays in the history: refused once, it would be refused in each later request.
        """
        is_too_long = isinstance(refusal, ContextExceeded)
        # guard: refused-images-are-left-out
        if not is_too_long and "image" not in refusal.detail.lower():
            return False
        least = MANY_IMAGES_CHARACTERS if is_too_long else 1
        if sum(map(_characters, self.of(messages))) < least:
            return False
        self._dropped = (messages[0], len(messages))
        return True


def without_images(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The same messages, as a model that cannot see gets them. One without images is the same object."""
    return tuple(
        replace(message, blocks=tuple(map(_unseen, message.blocks)))
        if any(each.images for each in _results(message))
        else message
        for message in messages
    )


def _results(message: Message) -> Iterator[ToolResult]:
    return (block for block in message.blocks if isinstance(block, ToolResult))


def _characters(message: Message) -> int:
    return sum(len(image.data) for result in _results(message) for image in result.images)


def _unseen(block: Block) -> Block:
    return replace(block, images=()) if isinstance(block, ToolResult) else block
