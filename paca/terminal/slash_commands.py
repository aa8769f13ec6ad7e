"""The commands that a person types in the terminal client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from paca.common.visible_text import one_line
from paca.terminal.connection import Connection
from paca.terminal.failures import ClientFailure
from paca.terminal.places import Place
from paca.terminal.rest import Rest
from paca.terminal.screen import Screen

HELP = {
    "/help": "this list",
    "/stop": "end the turn; what is stored stays",
    "/pause": "let the running step end, then pause",
    "/continue": "go on after a pause or an end",
    "/compact [focus]": "put a summary in place of what came before",
    "/fork": "go on in a copy of this conversation; this one stays as it is",
    "/new": "begin a new conversation with your next message",
    "/background [stop bg1]": "the commands in the background; stop one of them",
    "/usage": "tokens and cost so far",
    "/title TEXT": "rename the conversation",
    "/quit": "leave; the agent works on",
}


class Session(Protocol):
    """The running client, as far as commands need it."""

    rest: Rest
    place: Place
    screen: Screen
    connection: Connection | None

    async def enter(self, conversation: dict[str, Any]) -> None: ...
    async def leave_conversation(self) -> None: ...
    def leave(self) -> None: ...


async def run(session: Session, line: str) -> bool:
    """Run the command in this line; False if it is none, so that it is a message.

    ``/name`` of a skill is a message: the server opens the skill.
    """
    word, _, rest = line.partition(" ")
    command = _COMMANDS.get(word.lower())
    if command is None:
        if await _is_skill(session, word[1:]):
            return False
        session.screen.note(
            f"There is no {word}. {', '.join(HELP)}; two slashes begin a message with one."
        )
        return True
    try:
        await command(session, rest.strip())
    except ClientFailure as failure:
        session.screen.note(" ".join(filter(None, (failure.cause, failure.next_step))), "red")
    return True


async def _is_skill(session: Session, name: str) -> bool:
    try:
        agent = session.place.agent["id"]
        skills = session.rest.pages(f"{session.place.path}agents/{agent}/skills/")
        return name in [str(each.get("name")) async for each in skills]
    except ClientFailure:
        return False


async def _help(session: Session, _rest: str) -> None:
    for name, meaning in HELP.items():
        session.screen.note(f"{name:<22} {meaning}")
    session.screen.note("Ctrl+C once: interrupt the agent with a line of feedback. Twice: leave.")


def _socket_command(name: str) -> Callable[[Session, str], Awaitable[None]]:
    async def send(session: Session, _rest: str) -> None:
        if session.connection is None:
            session.screen.note("There is no conversation yet: write a message.")
            return
        await session.connection.send(name)

    return send


async def _compact(session: Session, rest: str) -> None:
    if path := _path(session):
        await session.rest.post(f"{path}compact/", {"focus": rest} if rest else {})
        session.screen.note("A summary is made before the next model call.")


async def _fork(session: Session, _rest: str) -> None:
    if path := _path(session):
        assert session.connection is not None
        made = await session.rest.post(f"{path}fork/", {"seq": session.connection.seq})
        await session.enter(made)
        session.screen.note(f"This is the fork {made['id']} now. Its files begin empty.")


async def _new(session: Session, _rest: str) -> None:
    await session.leave_conversation()
    session.screen.note("Your next message begins a new conversation.")


async def _usage(session: Session, _rest: str) -> None:
    if path := _path(session):
        session.screen.note(usage_line(await session.rest.get(path)))


async def _background(session: Session, rest: str) -> None:
    if not (path := _path(session)):
        return
    commands = (await session.rest.get(f"{path}background/"))["results"]
    verb, _, handle = rest.partition(" ")
    found = next((each for each in commands if each["handle"] == handle.strip()), None)
    if verb == "stop" and found is not None:
        commands = [await session.rest.post(f"{path}background/{found['id']}/stop/")]
    elif verb:
        session.screen.note(f"There is no background command {handle.strip() or verb}.")
        return
    for each in commands:
        end = each["cause"].replace("_", " ") or f"exit code {each['exit_code']}"
        state = end if each["state"] == "ended" else each["state"]
        session.screen.note(f"{each['handle']}  {state}  {one_line(each['command'], 80)}")
    if not commands:
        session.screen.note("Nothing has run in the background.")


async def _title(session: Session, rest: str) -> None:
    if path := _path(session):
        shown = await session.rest.patch(path, {"title": rest})
        session.screen.note(f"Renamed: {shown.get('title')}")


async def _quit(session: Session, _rest: str) -> None:
    session.leave()


def _path(session: Session) -> str:
    if session.connection is None:
        session.screen.note("There is no conversation yet: write a message.")
        return ""
    return session.place.conversation(session.connection.conversation_id)


def usage_line(conversation: dict[str, Any]) -> str:
    """Tokens, cost and the share of the model's window, on one line."""
    usage = conversation.get("usage") or {}
    cost = usage.get("cost_usd")
    parts = [
        f"{usage.get('input', 0):,} tokens in",
        f"{usage.get('output', 0):,} out",
        "cost unknown" if cost is None else f"${cost:,.4f}",
    ]
    context = conversation.get("context") or {}
    if context.get("window"):
        parts.append(f"{100 * context.get('used', 0) / context['window']:.0f} % of the window")
    return " · ".join(parts)


_COMMANDS: dict[str, Callable[[Session, str], Awaitable[None]]] = {
    "/help": _help,
    "/stop": _socket_command("stop"),
    "/pause": _socket_command("pause"),
    "/continue": _socket_command("continue"),
    "/compact": _compact,
    "/fork": _fork,
    "/new": _new,
    "/background": _background,
    "/usage": _usage,
    "/title": _title,
    "/quit": _quit,
}
