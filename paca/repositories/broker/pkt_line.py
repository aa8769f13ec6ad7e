"""The lines of the git protocol, the list of commands with which a push begins, and requests of fetches."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from paca.repositories.broker.bodies import Pieces

FLUSH, DELIMITER = b"0000", b"0001"
MAX_LINE = 65_520
MAX_BAND = 65_515
MAX_COMMANDS_BYTES = 64 << 10
MAX_READ_FETCH_BYTES = 4 << 20
MAX_LINES_BEFORE_REFS = 4
PROGRESS = 2
HASH = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
SHALLOW = re.compile(rb"shallow (?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
COMMAND = re.compile(
    rb"([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) ([\x21-\x7e\x80-\xff]{1,1024})\Z"
)
# Lines of a fetch that every git answers alike. Others are for the server alone: some name refs.
CAPABILITIES = frozenset({b"agent", b"object-format", b"session-id"})
ARGUMENTS = frozenset(
    b"thin-pack no-progress include-tag ofs-delta shallow deepen deepen-relative deepen-since filter sideband-all"
    b" wait-for-done want have done".split()
)
ReadExactly = Callable[[int], Awaitable[bytes]]


class ProtocolProblem(Exception):
    """The bytes are no request of git that is understood here; the text says why."""


@dataclass(frozen=True, slots=True)
class Command:
    """The change of one ref. ``old`` and ``new`` are commits; zeros stand for none."""

    old: str
    new: str
    ref: str

    @property
    def is_deletion(self) -> bool:
        """Whether the ref would be removed."""
        return not self.new.strip("0")

    @property
    def creates(self) -> bool:
        """Whether the ref must not exist: the server refuses it otherwise."""
        return not self.old.strip("0")


@dataclass(frozen=True, slots=True)
class CommandList:
    """The begin of a push as it was sent (``data``), its commands and what the client understands."""

    data: bytes
    commands: tuple[Command, ...]
    capabilities: frozenset[str]


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A request by protocol 2 as it was sent (``data``), whole unless it is longer than is read here.

    ``is_plain`` says that it is a fetch of the objects in ``wants``, with nothing that only its server understands.
    """

    data: bytes
    is_fetch: bool
    is_plain: bool
    wants: tuple[str, ...]


def line(text: bytes) -> bytes:
    """One line. It must fit: ``MAX_LINE``."""
    return b"%04x%b" % (len(text) + 4, text)


def band(number: int, data: bytes) -> bytes:
    """Data for a side band, in as many lines as it needs."""
    parts = (data[at : at + MAX_BAND] for at in range(0, len(data), MAX_BAND))
    return b"".join(line(bytes([number]) + part) for part in parts)


async def read_line(
    read: ReadExactly, *, with_delimiters: bool = False
) -> tuple[bytes, bytes | None]:
    """A line as it was sent, and its text; None for the end of a list, or a delimiter. Raises ``ProtocolProblem``."""
    try:
        head = await read(4)
        if head == FLUSH or (with_delimiters and head == DELIMITER):
            return head, None
        length = int(head, 16) if re.fullmatch(rb"[0-9a-fA-F]{4}", head) else -1
        if not 4 < length <= MAX_LINE:
            raise ProtocolProblem("A line of the request has no valid length.")
        text = await read(length - 4)
    except asyncio.IncompleteReadError:
        raise ProtocolProblem("The list of what to transfer is cut off.") from None
    return head + text, text


async def read_fetch(read: ReadExactly) -> FetchRequest:
    """A request by protocol 2. Raises ``ProtocolProblem``, and what ``read`` raises.

    It is read to its end, because git takes further wants after everything else.
    """
    wants: list[str] = []
    known, is_plain = CAPABILITIES, True
    raw, text = await read_line(read)
    pieces, size, is_fetch = [raw], len(raw), text is not None and text.strip() == b"command=fetch"
    while is_fetch and is_plain:
        raw, text = await read_line(read, with_delimiters=True)
        pieces.append(raw)
        size += len(raw)
        if raw == FLUSH:
            break
        if text is None:
            known = ARGUMENTS
            continue
        word, _, rest = text.strip().replace(b"=", b" ", 1).partition(b" ")
        is_plain = word in known and size <= MAX_READ_FETCH_BYTES
        if word == b"want":
            wants.append(rest.decode("ascii", "replace"))
    is_plain = is_plain and bool(wants) and all(map(HASH.match, wants))
    return FetchRequest(b"".join(pieces), is_fetch, is_fetch and is_plain, tuple(wants))


async def read_commands(read: ReadExactly) -> CommandList:
    """The list of commands that begins a push; an empty one is a probe. Raises ``ProtocolProblem``."""
    data, capabilities = b"", frozenset[str]()
    commands: list[Command] = []
    while True:
        raw, text = await read_line(read)
        data += raw
        # guard: broker-bounded-command-list
        if len(data) > MAX_COMMANDS_BYTES:
            raise ProtocolProblem(
                "The list of what to push is too long. Push one branch at a time."
            )
        if text is None:
            return CommandList(data, tuple(commands), capabilities)
        if not commands and SHALLOW.match(text.removesuffix(b"\n")):
            continue  # where the clone ends
        body, separator, rest = text.removesuffix(b"\n").partition(b"\0")
        if (separator and commands) or b"\0" in rest:
            raise ProtocolProblem("A line of the push is not valid.")
        if not commands:
            capabilities = frozenset(rest.decode("ascii", "replace").split())
        commands.append(_command(body))


def _command(text: bytes) -> Command:
    found = COMMAND.match(text)
    # A signed push and other forms begin with a word.
    if found is None or len(found[1]) != len(found[2]):
        raise ProtocolProblem("A line of the push is not valid.")
    return Command(
        found[1].decode(), found[2].decode(), found[3].decode("utf-8", "surrogateescape")
    )


async def with_capability(pieces: Pieces, word: str) -> AsyncIterator[bytes]:
    """An advertisement of refs in which the server says one word more of itself. Raises ``ProtocolProblem``."""
    for _ in range(MAX_LINES_BEFORE_REFS):
        raw, text = await read_line(pieces.read_exactly)
        if text is not None and b"\0" in text:
            yield line(text.removesuffix(b"\n") + b" " + word.encode() + b"\n")
            break
        yield raw
    async for piece in pieces.rest():
        yield piece


def refusal_report(found: CommandList, reason: str, words: str) -> bytes:
    """The answer to a push that is refused whole: the reason for each ref, and words for the person at the terminal."""
    report = line(b"unpack ok\n")
    for command in found.commands:
        ref = command.ref.encode("utf-8", "surrogateescape")
        report += line(b"ng " + ref + b" " + reason.encode() + b"\n")
    report += FLUSH
    if not {"side-band-64k", "side-band"} & found.capabilities:
        return report
    size = MAX_BAND if "side-band-64k" in found.capabilities else 995
    parts = (report[at : at + size] for at in range(0, len(report), size))
    return (
        band(PROGRESS, words.encode() + b"\n")
        + b"".join(line(b"\x01" + part) for part in parts)
        + FLUSH
    )


def error_advertisement(service: str, words: str) -> bytes:
    """The answer to the first request of git that is refused: git shows the words as those of the server."""
    return line(f"# service={service}\n".encode()) + FLUSH + line(b"ERR " + words.encode() + b"\n")
