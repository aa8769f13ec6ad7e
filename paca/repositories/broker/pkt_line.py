"""The lines of the git protocol, and the list of commands with which a push begins."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

FLUSH = b"0000"
MAX_LINE = 65_520
MAX_BAND = 65_515
MAX_COMMANDS_BYTES = 64 << 10
PROGRESS = 2
SHALLOW = re.compile(rb"shallow (?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
COMMAND = re.compile(
    rb"([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) ([\x21-\x7e\x80-\xff]{1,1024})\Z"
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


@dataclass(frozen=True, slots=True)
class CommandList:
    """The begin of a push as it was sent (``data``), its commands and what the client understands."""

    data: bytes
    commands: tuple[Command, ...]
    capabilities: frozenset[str]


def line(text: bytes) -> bytes:
    """One line. It must fit: ``MAX_LINE``."""
    return b"%04x%b" % (len(text) + 4, text)


def band(number: int, data: bytes) -> bytes:
    """Data for a side band, in as many lines as it needs."""
    parts = (data[at : at + MAX_BAND] for at in range(0, len(data), MAX_BAND))
    return b"".join(line(bytes([number]) + part) for part in parts)


async def read_line(read: ReadExactly) -> tuple[bytes, bytes | None]:
    """A line as it was sent, and its text; None for the end of a list. Raises ``ProtocolProblem``."""
    try:
        head = await read(4)
        length = int(head, 16) if re.fullmatch(rb"[0-9a-fA-F]{4}", head) else -1
        if length == 0:
            return head, None
        if not 4 < length <= MAX_LINE:
            raise ProtocolProblem("A line of the push has no valid length.")
        text = await read(length - 4)
    except asyncio.IncompleteReadError:
        raise ProtocolProblem("The list of what to push is cut off.") from None
    return head + text, text


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


def symbolic_refs(lines: Iterable[str]) -> dict[str, str]:
    """What ``git ls-remote --symref`` printed: each ref with its commit, and HEAD with ``ref:`` and its branch."""
    found: dict[str, str] = {}
    for each in lines:
        value, tab, name = each.partition("\t")
        if not tab:
            continue
        if value.startswith("ref: "):
            found[f"ref:{name}"] = value.removeprefix("ref: ")
        else:
            found[name] = value
    return found
