"""The interface of a model: a request, a stream of chunks, and the whole reply as the last chunk."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal, Protocol, Self

# What a provider attached to a reply or a call, by the family of models that it goes back to unread.
Attached = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """Text of a person or of the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning of the model, which the provider wants back unchanged.

    It has ``text`` with its ``signature``, or ``redacted`` data, or what is ``attached``.
    """

    text: str
    signature: str = ""
    redacted: str = ""
    attached: Attached = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call of the model. ``call_id`` is our own id and not the provider's.

    ``problem`` says why the arguments could not be read; they are empty then, and the call is not run.
    """

    call_id: str
    tool: str
    arguments: dict[str, Any]
    problem: str = ""
    attached: Attached = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Image:
    """An image in a result. ``kind`` is its media type, ``data`` its bytes in base64."""

    kind: str
    data: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call. ``source`` is the tool that the output comes from; it is empty if Paca
    itself says why there is none. ``images`` are sent to models that can see; the output names them too.
    """

    call_id: str
    output: str
    failed: bool = False
    source: str = ""
    images: tuple[Image, ...] = ()

    @property
    def text(self) -> str:
        """What the model reads: the output, marked as data with its source."""
        # guard: engine-results-are-data
        if not self.source:
            return self.output
        return mark_as_data(self.output, self.source)


def mark_as_data(text: str, source: str) -> str:
    """The text between marks that name its source.

    The mark holds a digest of the text, so that no text can contain its own end. It is the same in each
    request, so that prompts stay cached.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    # A text can be made to contain a few digits of its own digest, and not many.
    # guard: engine-output-cannot-end-its-mark
    mark = next((digest[:n] for n in (8, 16, 32) if digest[:n] not in text), digest)
    return f"<data {mark} from {source}>\n{text}\n</data {mark}>"


Block = Text | Thinking | ToolUse | ToolResult


@dataclass(frozen=True, slots=True)
class Message:
    """A message of one role, with its blocks in order."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it. ``arguments`` is a JSON schema of type object."""

    name: str
    description: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that one model call needs.

    The prefix (system, tools, messages) only grows from call to call, so that providers can cache
    it. ``may_call=False`` forbids tool calls in this reply; the tools stay in the prefix. ``as_text_for`` is the
    ``HistoryForm.server`` that is known to take this history as text only.
    """

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 8192
    parameters: dict[str, Any] = field(default_factory=dict)
    may_call: bool = True
    as_text_for: str = ""

    def has_head_of(self, other: Self) -> bool:
        """Whether both requests are equal but for their messages."""
        return replace(self, messages=other.messages) == other


# Digits of a dollar that a cost keeps: all of the cost of one token, and sums of costs stay exact.
COST_DIGITS = 10


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one attempt. ``input`` excludes tokens read from or written to a cache.

    ``estimated``: the server reported no usage. Limits use the estimate; no page shows it.
    ``reported_usd`` is the cost in US dollars that the provider reported, if it reports costs.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    estimated: bool = False
    reported_usd: float | None = None


class StopReason(StrEnum):
    """The reason for which the model stopped, for all providers alike."""

    END = "end"
    TOOLS = "tools"
    OUTPUT_LIMIT = "output_limit"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class UsageSeen:
    """The usage so far. With it the usage of a cancelled attempt can be recorded."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class HistoryForm:
    """The form in which a server takes the history of this conversation, learned from a refusal: ``as_text``, or
    in the usual form again. ``server`` is a digest of its address and the model.
    """

    server: str
    as_text: bool


@dataclass(frozen=True, slots=True)
class Notice:
    """A remark on a reply for people, such as an unknown stop reason. ``code`` is for programs."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The whole reply. It comes only after the stream ended properly.

    With ``OUTPUT_LIMIT`` it has no tool calls: a call that was cut is never run.
    """

    blocks: tuple[Text | Thinking | ToolUse, ...]
    stop: StopReason
    usage: Usage
    notices: tuple[Notice, ...] = ()

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def reasoning(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, Thinking))

    @property
    def is_only_reasoning(self) -> bool:
        """Whether the model ended without an answer after its reasoning."""
        return not (self.stop is not StopReason.END or self.calls or self.text.strip())

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))


Chunk = TextDelta | ThinkingDelta | UsageSeen | HistoryForm | Reply


class LLM(Protocol):
    """The adapter of a model. One stream is one attempt; ``retrying.py`` makes further ones."""

    def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Yield chunks, the ``Reply`` last. Closing the iterator closes the connection.

        Raises ``ModelError`` and no exception of a library.
        """
        ...
