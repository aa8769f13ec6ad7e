"""Replies of the scripted model, without a provider's dialect: texts, calls, pace and faults."""

import re
import threading
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

MAIN_ARGUMENT = {
    "bash": "command",
    "background_run": "command",
    "check_background": "id",
    "stop_background": "id",
    "read_file": "path",
    "list_directory": "path",
    "search_files": "pattern",
    "think": "thought",
}

# ``model_connection.py`` makes each of these faults.
FAULTS = (
    "429", "529", "500", "503", "401", "403", "404", "413", "nocredit", "badrequest", "ctx",
    "redirect", "echokey", "reset", "cut", "cuttool", "badjson", "midover", "midrate", "hang", "stall", "html", "nostop",
)  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A tool call in a reply. ``raw`` is sent in place of the arguments: broken JSON."""

    tool: str
    arguments: dict[str, Any]
    raw: str | None = None


@dataclass(frozen=True)
class Thought:
    """Reasoning in a reply. The server adds a signature, unless it is ``redacted``."""

    text: str
    redacted: str = ""


@dataclass(frozen=True)
class Raw:
    """A body that is sent unchanged. ``end``: the end mark of HTTP, a close or a reset of the connection."""

    data: bytes
    end: Literal["clean", "close", "reset"] = "clean"
    content_type: str = "text/event-stream; charset=utf-8"
    status: int = 200


@dataclass(frozen=True)
class Scripted:
    """One reply. Join parts with ``+``: ``thinks("Hm.") + says("Look.") + calls(bash="ls")``."""

    parts: tuple[str | Call | Thought, ...] = ()
    stop: Literal["", "max_tokens", "refusal"] | str = ""
    fault: str = ""
    retry_after: str = ""
    tokens_per_second: float = 0
    first_token_ms: float = 0
    input_tokens: int = 0
    cost_usd: float | None = None  # what the server says that it cost, as OpenRouter does
    held_by: threading.Event | None = None  # the reply begins when a test has set it

    def __add__(self, other: "Scripted") -> "Scripted":
        return replace(
            self,
            parts=self.parts + other.parts,
            tokens_per_second=self.tokens_per_second or other.tokens_per_second,
            first_token_ms=self.first_token_ms or other.first_token_ms,
        )

    def slowly(self, *, tps: float = 0, ftd: float = 0) -> Self:
        """The same reply, with ``tps`` tokens a second and the first one after ``ftd`` milliseconds."""
        return replace(self, tokens_per_second=tps, first_token_ms=ftd)

    def after(self, event: threading.Event) -> Self:
        """The same reply, not before the event is set."""
        return replace(self, held_by=event)

    def costing(self, dollars: float) -> Self:
        return replace(self, cost_usd=dollars)

    def stopping(self, reason: str) -> Self:
        return replace(self, stop=reason)

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(part for part in self.parts if isinstance(part, Call))


def has_result(body: dict[str, Any]) -> bool:
    """Whether the model is asked with the result of a call, in either dialect."""
    last = body["messages"][-1]
    return last["role"] == "tool" or "tool_result" in str(last)


def says(text: str) -> Scripted:
    """A reply with this text."""
    return Scripted((text,))


def thinks(text: str = "", *, redacted: str = "") -> Scripted:
    """A reply with this reasoning."""
    return Scripted((Thought(text, redacted),))


def calls(*pairs: tuple[str, dict[str, Any]], **by_name: Any) -> Scripted:
    """A reply with tool calls: ``calls(bash="ls", read_file={"path": "a"})``, ``calls(bash=["a", "b"])``.

    A name that is no Python identifier is given as a pair of name and arguments.
    """
    wanted = [Call(tool, arguments) for tool, arguments in pairs]
    for tool, value in by_name.items():
        for one in value if isinstance(value, list) else [value]:
            wanted.append(Call(tool, one if isinstance(one, dict) else {MAIN_ARGUMENT[tool]: one}))
    return Scripted(tuple(wanted))


def fails(kind: str, *, retry_after: str | float = "") -> Scripted:
    """A fault in place of a reply. A fault of the stream comes after the beginning of a reply.

    Raises ``ValueError`` for an unknown kind.
    """
    if kind not in FAULTS:
        raise ValueError(f"no such fault: {kind}")
    parts: tuple[str | Call, ...] = ("Let me look at that for you first.",)
    if kind in ("cuttool", "badjson"):
        parts += (Call("bash", {"command": "echo never"}),)
    return Scripted(parts, fault=kind, retry_after=str(retry_after))


# --- [[fake turns=3 par=2 cmd='ls' err=429@1x2]] ----------------------------------------------

DIRECTIVE = re.compile(r"\[\[fake\b(.*?)\]\]", re.S)
OPTION = re.compile(r"(\w+)=('[^']*'|\"[^\"]*\"|\S+)")
ERROR = re.compile(r"(\w+)@(\d+|\*)(?:x(\d+|\*))?$")
ALWAYS = 10**9
FINAL = (
    "All the steps are done and nothing is left to do. Here is a short account of the work: each "
    "step ran one command in the sandbox, its output was read, and the next step followed from it. "
    "If you want to see more, ask for the output of any single step and it will be shown to you."
)


@dataclass(frozen=True)
class Fault:
    kind: str
    turn: int | None  # None: at every turn
    times: int


@dataclass(frozen=True)
class Directive:
    """The replies that a ``[[fake ...]]`` in a user's message asks for.

    ``turns`` replies with ``par`` calls of ``cmd`` each, then the text ``say``. ``tps``: tokens a second.
    ``ftd``: milliseconds before the first token. ``retry``: the header of a fault.
    """

    turns: int = 0
    par: int = 1
    cmd: str = "echo step {i}"
    tps: float = 0
    ftd: float = 0
    retry: str = ""
    say: str = FINAL
    faults: tuple[Fault, ...] = ()

    @classmethod
    def found_in(cls, text: str) -> "Directive | None":
        found = DIRECTIVE.search(text)
        if found is None:
            return None
        given = {name: value.strip("'\"") for name, value in OPTION.findall(found[1])}
        faults = tuple(map(_fault, filter(None, given.pop("err", "").split(","))))
        kinds = {"turns": int, "par": int, "tps": float, "ftd": float}
        unknown = given.keys() - {"turns", "par", "cmd", "tps", "ftd", "retry", "say"}
        if unknown:
            raise ValueError(f"[[fake]] does not know {', '.join(sorted(unknown))}")
        return cls(**{k: kinds.get(k, str)(v) for k, v in given.items()}, faults=faults)  # type: ignore[arg-type]

    def reply(self, turn: int) -> Scripted:
        """The reply of a turn without a fault. In ``cmd``, ``{i}`` is the turn and ``{p}`` the call, from 0."""
        if turn >= self.turns:
            return says(self.say).slowly(tps=self.tps, ftd=self.ftd)
        commands = [
            self.cmd.replace("{i}", str(turn)).replace("{p}", str(p)) for p in range(self.par)
        ]
        words = f"Step {turn + 1} of {self.turns}: I run the next command."
        return (says(words) + calls(bash=commands)).slowly(tps=self.tps, ftd=self.ftd)

    def broken(self, turn: int, kind: str) -> Scripted:
        """The reply of a turn with a fault."""
        reply = self.reply(turn)
        if kind == "maxtok":
            return replace(reply, stop="max_tokens")
        if kind == "empty":
            return replace(reply, parts=())
        if kind in ("badargs", "badtool", "badjson", "cuttool") and not reply.calls:
            reply = reply + calls(bash="echo never")
        if kind == "badargs":
            return replace(reply, parts=_with_call(reply, arguments={"kommand": 7}))
        if kind == "badtool":
            return replace(reply, parts=_with_call(reply, tool="no_such_tool"))
        return replace(reply, fault=kind, retry_after=self.retry)


def _with_call(reply: Scripted, **changes: Any) -> tuple[str | Call | Thought, ...]:
    return tuple(
        replace(part, **changes) if isinstance(part, Call) else part for part in reply.parts
    )


def _fault(text: str) -> Fault:
    match = ERROR.match(text)
    if match is None or match[1] not in (*FAULTS, "maxtok", "empty", "badargs", "badtool"):
        raise ValueError(f"err={text} is not KIND@TURNxTIMES")
    kind, turn, times = match.groups()
    default = ALWAYS if turn == "*" else 1
    return Fault(
        kind,
        None if turn == "*" else int(turn),
        ALWAYS if times == "*" else int(times or default),
    )
