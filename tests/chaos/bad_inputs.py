"""The table of bad inputs (R7): the payloads by sender, each with its required result.

Inputs of unit tests are reused here and sent to running processes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from tests.chaos.scripts import DONE
from tests.conversations import test_api_bad_input as rest
from tests.engine.llm import test_anthropic_stream as replies
from tests.realtime import test_commands as frames
from tests.support import anthropic_dialect
from tests.support.model_script import Call, Raw, Scripted, calls, fails, says
from tests.worker import test_external_triggers as stream

ANSWERED = "finished/answered"
NOT_UTF8 = b"\xff\xfe\xed\xa0\x80"
DEEP = "[" * 100_000 + "]" * 100_000


@dataclass(frozen=True)
class BadInput:
    """One bad input. ``required``: facts that its sender must report; ``short``: also sent in CI."""

    name: str
    payload: Any
    required: Mapping[str, Any]
    short: bool = False


def difference(row: BadInput, seen: Mapping[str, Any]) -> str:
    """A sentence on the facts that differ from what the row requires; empty if none does."""
    wrong = {
        name: seen.get(name)
        for name, wanted in row.required.items()
        if not _fits(wanted, seen.get(name))
    }
    return f"{row.name}: saw {str(wrong)[:600]}, not {dict(row.required)}" if wrong else ""


def _fits(wanted: Any, found: Any) -> bool:
    """Whether a reported fact is as required: it contains a text, is in a set, or equals any other value."""
    if isinstance(wanted, str) and wanted:
        return isinstance(found, str) and wanted in found
    return found in wanted if isinstance(wanted, frozenset) else bool(found == wanted)


def one_of(*values: Any) -> frozenset[Any]:
    return frozenset(values)


# --- entries of the stream of triggers: fields that differ from those of a sound message ------------


def _set_aside(
    name: str, payload: Mapping[Any, Any], reason: str, *, short: bool = False
) -> BadInput:
    return BadInput(name, payload, {"fate": "set aside", "reason": reason}, short)


STREAM = [
    _set_aside("a value that is not UTF-8", {"message": NOT_UTF8}, "not UTF-8", short=True),
    _set_aside("a name that is not UTF-8", {NOT_UTF8: "x"}, "not UTF-8"),
    _set_aside("five megabytes", {"message": "x" * 5_000_000}, "too long", short=True),
    _set_aside("a name of a megabyte", {"type": None, "x" * 1_000_000: "y"}, "type is missing"),
    _set_aside(
        "ten thousand fields", {"type": "x", **{f"f{n}": "" for n in range(10_000)}}, "type"
    ),
    _set_aside("a wake-up that names nothing", {"trigger_id": "7"}, "trigger_id is not a UUID"),
    _set_aside("a wake-up that is no text", {"trigger_id": NOT_UTF8}, "trigger_id is not a UUID"),
    BadInput("a wake-up for an unknown trigger", {"trigger_id": uuid4()}, {"fate": "taken"}),
    _set_aside(
        "an agent of elsewhere", {"agent_id": "{agent of elsewhere}"}, "agent_id is no agent"
    ),
    _set_aside("another project", {"project_id": "{project of elsewhere}"}, "agent_id is no agent"),
    _set_aside(
        "a member of elsewhere", {"actor_member_id": "{member of elsewhere}"}, "is no person"
    ),
    *(
        _set_aside(name, changes, reason)
        for name, changes, reason in stream.WRONG
        if isinstance(changes, dict)
    ),
]
_STOP = {"type": "agent.stop", "conversation_id": "{conversation}"}
STOPS = [
    _set_aside("a stop of nothing", {**_STOP, "conversation_id": None}, "is missing", short=True),
    _set_aside("a stop of no id", {**_STOP, "conversation_id": "7"}, "not a UUID"),
    _set_aside("a stop that is not UTF-8", {**_STOP, "conversation_id": NOT_UTF8}, "not UTF-8"),
    _set_aside("a stop of nobody's", {**_STOP, "conversation_id": uuid4()}, "names no conversation"),
    _set_aside("a stop from elsewhere", {**_STOP, "project_id": "{project of elsewhere}"}, "is not that"),
    _set_aside("a stop of another's agent", {**_STOP, "agent_id": "{agent of elsewhere}"}, "is not that"),
    _set_aside("a stop by a stranger", {**_STOP, "actor_member_id": "{member of elsewhere}"}, "no person"),
    _set_aside("a stop by no id", {**_STOP, "actor_member_id": "me\0"}, "not a UUID"),
]  # fmt: skip

# --- messages on the channels: a malformed message is ignored, and subscribers still work ------------

_HEARD = {"heard": True, "listens": True}
_OF_IT = {"conversation_id": "{conversation}"}
CHANNELS = [
    BadInput(f"{channel} {name}", (channel, message), _HEARD, short=name == "with fields of wrong types")
    for channel in ("paca.events", "paca.live", "paca.control")
    for name, message in [
        ("no JSON", b"{"),
        ("not UTF-8", NOT_UTF8),
        ("nested too deep", DEEP.encode()),
        ("with fields of wrong types", {"type": ["x"], "payload": {**_OF_IT, "seq": {}}, "topic": 7, "frame": 7}),
        ("with a number that is none", b'{"type": "x", "payload": {"project_id": "x", "seq": Infinity}}'),
        ("with a number of no column", {"type": "x", "payload": {**_OF_IT, "seq": 10**40}}),
        ("with a negative number", {"type": "x", "payload": {**_OF_IT, "seq": -(10**40)}}),
        ("with a frame of no kind", {"topic": "conversation:{conversation}", "frame": {"x": 1}}),
    ]
]  # fmt: skip

# --- requests -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """A request that starts a chat.

    ``body`` is sent as JSON unless it is bytes; ``raw`` replaces the whole request.
    """

    body: Any = b""
    kind: str = "application/json"
    raw: bytes = b""
    query: str = ""


def _refused(
    name: str, request: Request, status: Any, code: Any, *, short: bool = False
) -> BadInput:
    return BadInput(name, request, {"status": status, "code": code}, short)


_LINE = b"POST {chats} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {bearer}\r\n"
REQUESTS = [
    _refused("thirty megabytes", Request({"text": "x" * 30_000_000}), 413, "too_large", short=True),
    _refused("nested too deep", Request(f'{{"text": {DEEP}}}'.encode()), 400, "malformed", short=True),
    _refused("deep, and a list", Request(DEEP.encode()), 400, "malformed"),
    _refused("a number of a megabyte", Request(b'{"text": %s}' % (b"9" * 1_000_000)), 400, one_of("malformed", "invalid")),
    _refused("text that is not UTF-8", Request(b'{"text": "' + NOT_UTF8 + b'"}'), 400, "malformed", short=True),
    _refused("a body without end", Request(raw=_LINE + b"Transfer-Encoding: chunked\r\n\r\n300000\r\n" + b"x" * 0x300000), 413, "too_large"),
    _refused("another character set", Request('{"text": "ä"}'.encode("utf-16")), 400, "malformed"),
    _refused("a character set unheard of", Request(b"{}", "application/json; charset=klingon"), one_of(400, 415), one_of("malformed", "invalid", "unsupported_media_type")),
    _refused("the same name twice", Request(b'{"text": "", "text": ""}'), 400, "invalid"),
    _refused("a query that is not UTF-8", Request({}, query="?x=%ff%00"), 400, "invalid"),
    _refused("no length and no end", Request(raw=_LINE + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"), one_of(400, 0), ""),
    _refused("a malformed length", Request(raw=_LINE + b"Content-Length: -7\r\n\r\n"), one_of(400, 0), ""),
    _refused("a header of a megabyte", Request(raw=_LINE + b"X-A: " + b"a" * 1_000_000 + b"\r\n\r\n"), one_of(400, 401, 411, 413, 431, 0), one_of("", "malformed", "invalid")),
    _refused("bytes that are not HTTP", Request(raw=NOT_UTF8 * 100 + b"\r\n\r\n"), one_of(400, 0), ""),
    _refused("a TLS handshake", Request(raw=b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(600)), one_of(400, 0), ""),
    *(
        _refused(f"body {body!r} as {kind}", Request(body.encode("latin-1"), kind), status, code)
        for body, kind, status, code in rest.BODIES
    ),
    *(
        _refused(f"message {str(body)[:40]!r}", Request(json.dumps(body).encode()), 400, "invalid")
        for body, _, _ in rest.MESSAGES
    ),
]  # fmt: skip

# --- frames of a socket ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class RawBytes:
    """Raw bytes that follow the handshake."""

    data: bytes


_MASK = b"\0\0\0\0"
FRAMES = [
    *(BadInput(name, frame, {"type": "error", "code": code}, name == "binary") for name, frame, code in frames.MALFORMED),
    BadInput("text that is not UTF-8", RawBytes(b"\x81\x85" + _MASK + NOT_UTF8), {"closed": 1007}, short=True),
    BadInput("reserved bits", RawBytes(b"\xf1\x81" + _MASK + b"x"), {"closed": 1002}),
    BadInput("an unknown opcode", RawBytes(b"\x83\x81" + _MASK + b"x"), {"closed": 1002}),
    BadInput("a frame of two gigabytes", RawBytes(b"\x81\xff" + (2**31).to_bytes(8, "big") + _MASK), {"closed": 1009}),
    BadInput("a malformed close frame", RawBytes(b"\x88\x81" + _MASK + b"x"), {"closed": 1002}),
    BadInput("a continuation without a beginning", RawBytes(b"\x80\x81" + _MASK + b"x"), {"closed": 1002}),
]  # fmt: skip

# --- replies of the model: the first is bad, the next is good -------------------------------------------


@dataclass(frozen=True)
class FirstReply:
    """The first reply of the model. ``words``: its final answer, perhaps to the second request."""

    reply: Raw | Scripted
    expected_texts: str = DONE


def _again(name: str, reply: Raw | Scripted, *, cause: str = "", short: bool = False) -> BadInput:
    """A reply that is discarded completely and requested again."""
    because = {"because": cause} if cause else {}
    return BadInput(name, FirstReply(reply), {"status": ANSWERED, "retried": 1, **because}, short)


def _refused_call(
    name: str, payload: Scripted, output: str, *, cause: str = "invalid", short: bool = False
) -> BadInput:
    """A reply that is stored unchanged. The model reads why its call was not run."""
    required = {"status": ANSWERED, "retried": 0, "cause": cause, "output": output}
    return BadInput(name, payload, required, short)


_SOUND = anthropic_dialect.whole(says(DONE))
_ONE_EVENT = anthropic_dialect.frame(
    "content_block_delta", index=0, delta={"type": "text_delta", "text": "x" * 100_000}
)
REPLIES = [
    *(
        _again(f"arguments: {name}", Raw(data + replies.ending("tool_use")))
        for name, (data, expected) in replies.ARGUMENTS.items()
        if expected is None
    ),
    *(_again(f"fault {kind}", fails(kind)) for kind in ("cuttool", "midover", "html", "nostop", "reset")),
    _again("not UTF-8", Raw(_SOUND.replace(DONE[:4].encode(), NOT_UTF8)), short=True),
    _again("an event that is not JSON", Raw(b"data: {\n\n" + _SOUND)),
    _again("an event that is a list", Raw(b"data: [1]\n\n" + _SOUND)),
    _again("an event nested too deep", Raw(b"data: " + DEEP.encode() + b"\n\n" + _SOUND), short=True),
    _again("an event without an end", Raw(b"data: " + b"x" * (9 << 20)), cause="an event without an end"),
    _again("a text without an end", Raw(anthropic_dialect.opening(says(""), {}, 1) + anthropic_dialect.frame("content_block_start", index=0, content_block={"type": "text", "text": ""}) + _ONE_EVENT * 700), cause="is longer than 64 MiB"),
    _again("nothing at all", Raw(b"")),
    _again("a kind of content that is none", Raw(_SOUND.replace(b'"text_delta"', b'"smell_delta"'))),
    BadInput("events of an unknown type", FirstReply(Raw(b"event: new\ndata: {\"type\": \"new\", \"x\": []}\n\n" + _SOUND)), {"status": ANSWERED, "retried": 0}, short=True),
    BadInput("text with NUL and a lone surrogate", FirstReply(Raw(_SOUND.replace(DONE[:4].encode(), rb"\u0000\ud800")), "\u2400?" + DONE[4:]), {"status": ANSWERED, "retried": 0}),
    BadInput("a megabyte of text", FirstReply(Raw(anthropic_dialect.whole(says("x" * 1_000_000), grain=100_000)), "x" * 1_000_000), {"status": ANSWERED, "retried": 0}),
    *(BadInput(f"a count of {observed[:9]!r} tokens", FirstReply(Raw(_SOUND.replace(b'"output_tokens":4', b'"output_tokens":' + observed))), {"status": ANSWERED, "retried": 0}) for observed in (b"9" * 30, b"-5", b"true", b'"x"')),
    BadInput("five hundred calls at once", calls(think=[f"thought {n}" for n in range(500)]), {"status": ANSWERED, "output": "Noted."}),
    _refused_call("an unknown tool", calls(("no_such_tool", {"a": 1})), "There is no tool", cause="unknown_tool", short=True),
    _refused_call("a tool with an unreadable name", calls(("\0" * 200, {})), "There is no tool", cause="unknown_tool"),
    _refused_call("arguments with an unknown name", calls(("bash", {"kommand": "ls"})), "command"),
    _refused_call("arguments of other types", calls(("bash", {"command": 7})), "command"),
    _refused_call("arguments nested deep", calls(("bash", {"command": replies.nested(90, 1)})), "command"),
    _refused_call("arguments of a megabyte", calls(("bash", {"command": "x" * 1_000_000})), "100000"),
    _refused_call("a command with a NUL", calls(bash="a\0b"), "NUL"),
    _refused_call("a number as a list", calls(("bash", {"command": "ls", "timeout_seconds": [1]})), "timeout_seconds"),
    _refused_call("a path that is too long", calls(read_file="x" * 100_000), "4096"),
    _refused_call("a number with 4,000 digits", Scripted((Call("bash", {}, raw='{"command": "ls", "timeout_seconds": %s}' % ("9" * 4000)),)), "timeout_seconds"),
]  # fmt: skip

# --- commands in the sandbox ----------------------------------------------------------------------------


def _ran(name: str, payload: Scripted, *, short: bool = False, **required: Any) -> BadInput:
    """A command, whatever its result, after which the sandbox still works."""
    return BadInput(name, payload, {"status": ANSWERED, "after": "whole", **required}, short)


_ZIP = (
    "head -c 1G /dev/zero | gzip -1 > bomb.gz; for n in 1 2 3; do gunzip -c bomb.gz > out-$n; done"
)
_FILES = (
    "python3 -c \"import os; os.mkdir('m'); [open(f'm/{n}', 'w').close() for n in range(100_000)]\""
)
COMMANDS = [
    _ran("300 MB of output", calls(bash="head -c 300000000 /dev/zero | tr '\\0' x"), output="left out", cause=""),
    _ran("output that is no text", calls(bash="head -c 4096 /dev/urandom; printf 'a\\000b'"), output="exit 0", short=True),
    _ran("a fork bomb", calls(bash=":(){ :|:& };:; sleep 5"), cause=one_of("", "too_many_processes")),
    _ran("a bomb that never rests", calls(("bash", {"command": "while true; do sleep 100 & done", "timeout_seconds": 8})), cause=one_of("timed_out", "too_many_processes")),
    _ran("a memory bomb", calls(bash="python3 -c 'x = bytearray(9 << 30)'"), cause="out_of_memory"),
    _ran("memory that is used", calls(bash="python3 -c 'x = [bytes([1]) * (1 << 20) for _ in range(9000)]'"), cause="out_of_memory"),
    _ran("a zip bomb", calls(("bash", {"command": _ZIP, "timeout_seconds": 200})) + calls(bash="rm out-*"), cause="disk_full"),
    _ran("a hundred thousand files", calls(("bash", {"command": f"{_FILES}; echo made", "timeout_seconds": 200})) + calls(list_directory=".", search_files="x") + calls(list_directory="m"), output="made"),
    _ran("a pipe without a writer", calls(bash="mkfifo pipe") + calls(read_file="pipe"), output="pipe", short=True),
    _ran("a circle of links", calls(bash="ln -s b a; ln -s a b") + calls(read_file="a", list_directory="b"), output="a"),
    _ran("a circle of folders", calls(bash="mkdir -p d; ln -s ../d d/d") + calls(search_files="x", list_directory="d/d/d/d"), status=ANSWERED),
    _ran("folders without end", calls(bash="for n in $(seq 900); do mkdir d && cd d; done; echo deep") + calls(search_files="x", list_directory="."), status=ANSWERED),
    _ran("an edit of a device", calls(bash="ln -s /dev/zero zero") + calls(("edit_file", {"path": "zero", "old": "a", "new": "b"})), output="outside the workspace"),
    _ran("a file written over a device", calls(("write_file", {"path": "/dev/null", "content": "x"})), output="outside the workspace"),
    _ran("an edit of a huge file", calls(bash="truncate -s 1G huge") + calls(read_file="huge") + calls(("edit_file", {"path": "huge", "old": "a", "new": "b"})), output="huge"),
    _ran("a file of a megabyte in one line", calls(bash="head -c 1000000 /dev/zero | tr '\\0' x > line") + calls(read_file="line", search_files="xx"), status=ANSWERED),
    _ran("a name with a NUL", calls(("write_file", {"path": "a\0b", "content": ""})), cause="invalid", output="NUL"),
    _ran("a name that is no text", calls(bash=r"echo x > $'odd\355\240\200\n\e[2J.txt'") + calls(list_directory=".", search_files="x"), output="odd"),
    _ran("a pattern that explodes", calls(bash="printf 'a%.0s' $(seq 40) > a.txt") + calls(search_files="(a+)+$b"), status=ANSWERED),
    _ran("a malformed pattern", calls(search_files="(["), output="no regular expression"),
    _ran("who does not hear TERM", calls(("bash", {"command": "trap '' TERM HUP INT; while true; do sleep 1; done", "timeout_seconds": 2})), cause="timed_out", short=True),
    _ran("who leaves its session", calls(("bash", {"command": "setsid nohup sleep 301 >/dev/null 2>&1 & sleep 300", "timeout_seconds": 2})), cause="timed_out"),
    _ran("a command that kills every process", calls(bash="kill -9 -1; pkill -9 python3; sleep 1"), status=ANSWERED),
    _ran("a process that outlives its command", calls(bash="setsid nohup sleep 301 >/dev/null 2>&1 & echo begun"), output="begun"),
    _ran("who closes its output", calls(("bash", {"command": "exec >&- 2>&-; sleep 300", "timeout_seconds": 2})), cause="timed_out"),
    _ran("a command that removes the folder of the runner", calls(bash="rm -rf .paca /workspace/.paca; ln -s /etc .paca; yes | head -c 100000"), output="y"),
]  # fmt: skip

ROWS: dict[str, list[BadInput]] = {
    "stream": [*STOPS, *STREAM],
    "channels": CHANNELS,
    "requests": REQUESTS,
    "frames": FRAMES,
    "replies": REPLIES,
    "commands": COMMANDS,
}
