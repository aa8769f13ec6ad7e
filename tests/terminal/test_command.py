"""``manage.py agent_chat`` before it reaches a server: what it reads, and what it says of wrong flags."""

import asyncio
import contextlib
import getpass
import io
import shlex
import sys

import pytest
from django.core.management import call_command

from paca.ops.management.commands import agent_chat


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def without_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PACA_TOKEN", "PACA_SERVER"):
        monkeypatch.delenv(name, raising=False)


def chat(monkeypatch: pytest.MonkeyPatch, *arguments: str, stdin: object = None) -> tuple[int, str]:
    """The exit code of the command at a terminal, or with this stdin, and what it says of it."""
    monkeypatch.setattr(sys, "stdin", stdin)
    said = io.StringIO()
    with pytest.raises(SystemExit) as ended, contextlib.redirect_stdout(Terminal()):
        call_command("agent_chat", *arguments, stderr=said, no_color=True)
    return int(ended.value.code), said.getvalue()


@pytest.mark.parametrize("server", ["http://[::1", "http://x:port", "ftp://x"])
def test_address_that_is_none_is_a_wrong_request(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said = chat(monkeypatch, "Hello", "--token", "paca_x", "--server", server)
    assert (code, "is no address of a server" in said) == (2, True), said


def test_ctrl_c_at_the_question_for_the_token_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(prompt: str) -> str:
        # A loop would take the first Ctrl+C for itself, and the read that blocks would go on.
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        raise KeyboardInterrupt

    monkeypatch.setattr(getpass, "getpass", ask)
    assert chat(monkeypatch, stdin=Terminal()) == (130, "")


def test_end_of_input_at_the_question_for_the_token_gives_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ask(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr(getpass, "getpass", ask)
    code, said = chat(monkeypatch, stdin=Terminal())
    assert (code, "There is no token." in said) == (4, True), said


@pytest.mark.parametrize("stdin", [None, io.TextIOWrapper(io.BytesIO(b""))])
def test_without_a_message_and_a_person_it_says_what_to_give(
    stdin: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said = chat(monkeypatch, "--token", "paca_x", stdin=stdin)
    assert (code, "There is no message." in said) == (2, True), said


def test_bytes_that_are_no_text_are_sent_with_signs_in_their_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    piped = io.BytesIO(b"caf\xe9 au lait\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(piped, encoding="utf-8"))
    assert agent_chat._message({"message": "", "json": False}) == ("caf\ufffd au lait", False)
    assert agent_chat._message({"message": "caf\udce9", "json": False}) == ("caf?", False)


def test_command_to_come_back_can_be_typed_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    options = {"server": "https://x.test", "project": "Our Harbor; rm -rf", "json": True}
    again = agent_chat._session_options({**options, "thinking": False}, "Hi", False).command
    assert shlex.split(again)[2:] == ["--server", "https://x.test", "--project", options["project"]]
