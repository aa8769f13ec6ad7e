"""``manage.py agent_chat``: chat with an agent of any server of Paca, in the terminal."""

import asyncio
import getpass
import os
import shlex
import sys
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import BaseCommand

from paca.common.text import to_encodable
from paca.common.visible_text import visible
from paca.terminal import places
from paca.terminal.failures import ClientFailure, ExitCode
from paca.terminal.options import Options
from paca.terminal.places import Place
from paca.terminal.rest import Rest, ServerAddress
from paca.terminal.screen import Screen
from paca.terminal.session import Session

EXIT_CODES = (
    "Exit codes: 0 answered, 1 not answered (failed, stopped or paused), 2 wrong request, 3 unreachable, "
    "4 token refused, 5 waits for a person, 130 Ctrl+C."
)


class Command(BaseCommand):
    help = f"Chat with an agent in the terminal: a message as argument or from a pipe, or line by line. {EXIT_CODES}"
    requires_system_checks = ()  # it uses no part of this installation, and no database

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "message", nargs="?", default="", help="send this, and end with the answer"
        )
        parser.add_argument(
            "--server",
            default=os.environ.get("PACA_SERVER") or "http://127.0.0.1:8000",
            help="address of the server (default: PACA_SERVER, else http://127.0.0.1:8000)",
        )
        parser.add_argument(
            "--token",
            help="API token. Others on this machine can see it in the list of processes: better use PACA_TOKEN, "
            "--token-file, or type it when asked",
        )
        parser.add_argument("--token-file", help="a file that has the token and nothing else")
        parser.add_argument(
            "--project", default="", help="name, prefix or id; needed if there are several"
        )
        parser.add_argument("--agent", default="", help="handle; needed if there are several")
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument(
            "--conversation", default="", help="go on in the conversation with this id"
        )
        chosen.add_argument(
            "--continue",
            action="store_true",
            dest="latest",
            help="go on in your latest chat with the agent",
        )
        parser.add_argument(
            "--json", action="store_true", help="print each frame as a line of JSON"
        )
        parser.add_argument(
            "--thinking", action="store_true", help="show the reasoning of the model too"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            # Before the event loop, which would keep Ctrl+C from a read that blocks.
            message, is_typed = _message(options)
            address = ServerAddress(options["server"], _token(options, may_ask=is_typed))
            code = asyncio.run(_chat(options, address, message, is_typed))
        except ClientFailure as failure:
            step = f"\nNext step: {failure.next_step}" if failure.next_step else ""
            self.stderr.write(visible(f"{failure.cause}{step}"))
            code = failure.exit_code
        except KeyboardInterrupt:  # before the conversation has begun
            code = ExitCode.INTERRUPTED
        except BrokenPipeError:  # the reader of the pipe has left
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = ExitCode.ANSWERED
        sys.exit(int(code))


def _message(options: dict[str, Any]) -> tuple[str, bool]:
    """The message of the argument or the pipe, and whether a person can type. Raises ``ClientFailure``."""
    is_typed = _is_terminal(sys.stdin)
    message = to_encodable(options["message"])
    if not message and sys.stdin is not None and not is_typed:
        message = sys.stdin.buffer.read().decode(errors="replace").strip()
    if not message and (not is_typed or not _is_terminal(sys.stdout) or options["json"]):
        raise ClientFailure(
            ExitCode.WRONG_REQUEST,
            "There is no message.",
            "give it as the last argument, or by a pipe",
        )
    return message, is_typed


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether it is one; a stream that the shell has closed is None."""
    return stream is not None and stream.isatty()


async def _chat(
    options: dict[str, Any], address: ServerAddress, message: str, is_typed: bool
) -> ExitCode:
    """Find what the flags name, and chat. Raises ``ClientFailure``."""
    if not address.is_encrypted and not address.is_local:
        sys.stderr.write(
            "This address is not encrypted: others can read the token and the chat. Use https.\n"
        )
    rest = Rest(address)
    try:
        place, conversation = await _find(rest, options)
        session = Session(
            rest, place, _screen(options), _session_options(options, message, is_typed)
        )
        return await session.run(conversation)
    finally:
        await rest.close()


async def _find(rest: Rest, options: dict[str, Any]) -> tuple[Place, dict[str, Any] | None]:
    project = await places.find_project(rest, options["project"])
    if options["conversation"]:
        found = await places.find_conversation(rest, project, options["conversation"])
        return Place(project, found["agent"]), found
    place = Place(project, await places.find_agent(rest, project, options["agent"]))
    return place, await places.latest_conversation(rest, place) if options["latest"] else None


def _token(options: dict[str, Any], *, may_ask: bool) -> str:
    """The token of the flag, the file, the environment or the person. Raises ``ClientFailure``."""
    if options["token"]:
        sys.stderr.write(
            "Others on this machine can see --token in the list of processes; PACA_TOKEN hides it.\n"
        )
        return str(options["token"]).strip()
    if options["token_file"]:
        try:
            return Path(options["token_file"]).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            cause = f"The token cannot be read: {error}"
            raise ClientFailure(ExitCode.WRONG_REQUEST, cause, "check --token-file") from None
    token = os.environ.get("PACA_TOKEN", "").strip()
    if not token and may_ask:
        with suppress(EOFError):  # Ctrl+D
            token = getpass.getpass("API token (it is not shown): ").strip()
    if not token:
        raise ClientFailure(
            ExitCode.REFUSED,
            "There is no token.",
            "make one on the server with: manage.py create_token USER; then set PACA_TOKEN",
        )
    return token


def _screen(options: dict[str, Any]) -> Screen:
    is_terminal = _is_terminal(sys.stdout) and not options["json"]
    colours = (
        is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    ) and not options["no_color"]
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    return Screen(sys.stdout, sys.stdout if is_terminal else sys.stderr, colours=colours)


def _session_options(options: dict[str, Any], message: str, is_typed: bool) -> Options:
    named = [name for name in ("server", "project") if options[name]]
    flags = [f"--{name} {shlex.quote(options[name])}" for name in named]
    asks = is_typed and _is_terminal(sys.stdout) and not options["json"]
    return Options(
        message=message,
        input_descriptor=sys.stdin.fileno() if asks else None,
        as_json=options["json"],
        thinking=options["thinking"],
        command=" ".join(["manage.py agent_chat", *flags]),
    )
