"""One run of the terminal client: messages, decisions and Ctrl+C of a person, and what the agent does."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from paca.terminal import input_lines, slash_commands
from paca.terminal.connection import Connection, Frame
from paca.terminal.failures import ClientFailure, ExitCode
from paca.terminal.options import Options
from paca.terminal.places import Place
from paca.terminal.questions import Answer, Questions
from paca.terminal.rest import Rest
from paca.terminal.screen import Screen
from paca.terminal.view import ENDS, State, View

EARLIER_EVENTS = 60
GIVE_UP_SECONDS = 300.0


class Session:
    """Everything that happens comes through one queue, so nothing is handled at the same time."""

    def __init__(self, rest: Rest, place: Place, screen: Screen, options: Options) -> None:
        self.rest, self.place, self.screen = rest, place, screen
        self.connection: Connection | None = None
        self._options = options
        self._queue: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self._follower: asyncio.Task[None] | None = None
        self._state = State()
        self._view = self._new_view()
        self._exit: ExitCode | None = None
        self._sent_seq: int | None = None  # of the message that a single run waits for
        self._is_cut = self._may_leave = False
        self._questions, self._first_message = Questions(), ""
        self._step: asyncio.Task[None] | None = None  # what a person waits for now

    async def run(self, conversation: dict[str, Any] | None) -> ExitCode:
        """Chat until a person leaves, or until the one message is answered. Raises ``ClientFailure``."""
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError, ValueError):
            loop.add_signal_handler(signal.SIGINT, self.interrupt)
        try:
            await self._until_interrupted(self._begin(conversation))
            while self._exit is None:
                kind, value = await self._queue.get()
                await self._handle(kind, value)
            return self._exit
        finally:
            self.screen.release()
            self.screen.end_line()
            await self.leave_conversation()
            with suppress(NotImplementedError, ValueError):
                loop.remove_signal_handler(signal.SIGINT)

    async def _begin(self, conversation: dict[str, Any] | None) -> None:
        if conversation is not None:
            await self.enter(conversation)
        if self._options.message:
            await self._send(self._options.message)
        if self._options.input_descriptor is not None:
            input_lines.follow(self._options.input_descriptor, self._take_typed)
        if self.connection is None:
            self._prompt()

    def interrupt(self) -> None:
        """Ctrl+C. A server that does not answer must not hold a person: what waits for it is given up."""
        if self._step is not None:
            self._step.cancel()
        else:
            self._queue.put_nowait(("interrupt", None))

    async def _until_interrupted(self, step: Coroutine[Any, Any, None]) -> None:
        """Do what a person asked for, to its end or until Ctrl+C. Raises what it raises."""
        task = self._step = asyncio.create_task(step)
        try:
            await asyncio.wait([task])
        finally:
            self._step = None
            task.cancel()
        if not task.cancelled():
            task.result()
        elif self._options.message or not self._options.asks:
            self.leave(ExitCode.INTERRUPTED)
        else:
            self._may_leave = True
            self.screen.note("Given up; the server may have it all the same. Ctrl+C again leaves.")
            self._prompt()

    def _take_typed(self, line: str | None) -> None:
        self._queue.put_nowait(("line", line))

    async def _handle(self, kind: str, value: Any) -> None:
        if kind == "line":
            await self._until_interrupted(self._take_line(value))
        elif kind == "interrupt":
            self._take_interrupt()
        else:
            await self._take_news(kind, *value)

    async def _take_news(self, kind: str, connection: Connection, news: Any) -> None:
        """What a connection tells; that of a conversation which was left does not count any more."""
        if connection is not self.connection:
            return
        if kind == "frame":
            await self._take_frame(news)
        elif kind == "failure":
            raise news
        elif not self._is_cut:
            self._is_cut = True
            self.screen.note(f"Connection lost ({news}); trying again.")

    # --- the conversation -------------------------------------------------------------------------

    async def enter(self, conversation: dict[str, Any], *, after: int | None = None) -> None:
        """Follow this conversation, from its last few events on."""
        await self.leave_conversation()
        last = int(conversation.get("last_seq") or 0)
        if after is None:
            after = last if self._options.message else max(0, last - EARLIER_EVENTS)
        connection = self.connection = Connection(
            self.rest.address,
            str(conversation["id"]),
            after=after,
            on_frame=lambda frame: self._queue.put_nowait(("frame", (connection, frame))),
            on_cut=lambda reason: self._queue.put_nowait(("cut", (connection, reason))),
            give_up_seconds=GIVE_UP_SECONDS if self._options.message else None,
        )
        self._follower = asyncio.create_task(self._follow(connection))

    async def _follow(self, connection: Connection) -> None:
        try:
            await connection.run()
        except ClientFailure as failure:
            self._queue.put_nowait(("failure", (connection, failure)))

    async def leave_conversation(self) -> None:
        """Follow no conversation any more. The agent works on."""
        follower, self._follower, self.connection = self._follower, None, None
        self._state, self._questions = State(own_messages=self._state.own_messages), Questions()
        self._view, self._is_cut, self._sent_seq = self._new_view(), False, None
        if follower is not None:
            follower.cancel()
            await asyncio.gather(follower, return_exceptions=True)

    def leave(self, code: ExitCode = ExitCode.ANSWERED) -> None:
        """End the client."""
        self._exit = code
        self.screen.release()
        if self._state.is_working and self.connection is not None:
            again = f"{self._options.command} --conversation {self.connection.conversation_id}"
            self.screen.note(f"The agent works on. Come back with: {again}")

    async def _send(self, text: str) -> None:
        if self.connection is not None:
            self._sent_seq = None
            self._state.own_messages.add(await self.connection.send("message", text=text))
            return
        # The key of the request makes one chat of it, also if the answer is lost.
        started = await self.rest.post(self.place.chats, {"message": text})
        await self.enter({"id": started["conversation"]}, after=0)
        self._state.status, self._sent_seq = "queued", 0
        self._first_message = text

    # --- frames -----------------------------------------------------------------------------------

    async def _take_frame(self, frame: Frame) -> None:
        self._state.take(frame)
        if frame["type"] == "ready":
            self._take_ready()
        elif frame["type"] == "ack":
            self._take_ack(frame)
        elif frame["type"] == "error":
            self._take_error(frame)
        elif not self._is_own_first_message(frame):
            self._show(frame)
        self._ask_or_end()
        if frame["type"] in ENDS and self._exit is None:
            self._prompt()

    def _show(self, frame: Frame) -> None:
        if self._options.as_json:
            self.screen.line(json.dumps(frame))
        else:
            self._view.show(frame)

    def _is_own_first_message(self, frame: Frame) -> bool:
        """Whether it is the message that began the chat here: a person need not read it twice."""
        data = frame.get("data") or {}
        if self._options.as_json or frame["type"] != "agent.message.received":
            return False
        is_own = bool(self._first_message) and data.get("text") == self._first_message
        self._first_message = ""
        return is_own

    def _take_ready(self) -> None:
        if self._is_cut:
            self._is_cut = False
            self.screen.note("Connected again.")
        if not self._state.is_working:
            self._prompt()

    def _take_ack(self, frame: Frame) -> None:
        if frame.get("command") in ("message", "interrupt"):
            self._sent_seq = int(frame.get("event_seq") or 0)
            if self._state.end_seq < self._sent_seq:
                self._state.status = "queued"

    def _take_error(self, frame: Frame) -> None:
        detail = str(frame.get("detail"))
        if frame.get("code") == "unknown_command":
            detail = f"The server does not know this command; it is another version. {detail}"
        sent = frame.get("sent") or {}
        if self._options.message and sent.get("type") == "message":
            raise ClientFailure(ExitCode.WRONG_REQUEST, detail)
        self.screen.note(detail, "red")
        if sent.get("type") == "message":  # what was typed must not be lost
            self.screen.note(f"Not sent: {sent.get('text')}")
        self._prompt()

    def _ask_or_end(self) -> None:
        """Ask for what is open; in a single run, end when the message is answered."""
        state = self._state
        if state.waits and not self._options.asks:
            self._end_single(ExitCode.WAITS_FOR_A_PERSON)
        elif state.waits:
            call_id, (kind, data) = next(iter(state.waits.items()))
            if call_id != self._questions.call_id and not self._questions.is_busy:
                self._questions.ask(call_id, kind, data)
                self._prompt()
        elif self._questions.call_id:
            self._questions.ask("", "approval", {})
            self._prompt()
        if state.is_working or state.waits or self._sent_seq is None:
            return
        if self._options.message and state.end_seq > self._sent_seq:
            answered = state.status == "finished"
            self._end_single(ExitCode.ANSWERED if answered else ExitCode.NOT_ANSWERED)
        elif state.end_seq > self._sent_seq:
            self._sent_seq = None

    def _end_single(self, code: ExitCode) -> None:
        assert self.connection is not None
        self._exit = code
        conversation = self.connection.conversation_id
        if self._options.as_json:
            end = {"type": "end", "conversation": conversation, "status": self._state.status}
            self.screen.line(json.dumps({**end, "exit_code": int(code)}))
        elif code is ExitCode.WAITS_FOR_A_PERSON:
            again = f"{self._options.command} --conversation {conversation}"
            self.screen.note(f"A call waits for a person. Decide on its page, or with: {again}")

    # --- what a person types ----------------------------------------------------------------------

    def _prompt(self) -> None:
        if not self._options.asks or self._exit is not None:
            return
        is_free = not self._options.message and not self._state.is_working
        if text := self._questions.prompt or ("> " if is_free else ""):
            self.screen.prompt(text)
        if self._questions.is_busy:
            self.screen.hold()  # what the agent writes must not tear the line apart

    async def _take_line(self, line: str | None) -> None:
        self.screen.typed()
        self._may_leave = False
        if line is None:  # Ctrl+D, or the end of a file
            if not self._options.message:
                self.leave()
        elif (answer := self._questions.answer(line)) is not None:
            await self._give(answer)
        elif not line.strip() or await self._is_slash_command(line):
            self._prompt()
        else:
            await self._send_typed(line[1:] if line.startswith("//") else line)

    async def _is_slash_command(self, line: str) -> bool:
        """Whether the line is a command, which is then executed."""
        if not line.startswith("/") or line.startswith("//"):
            return False
        return await slash_commands.run(self, line)

    async def _send_typed(self, text: str) -> None:
        try:
            await self._send(text)
        except ClientFailure as failure:  # what was typed must not be lost
            self.screen.note(" ".join(filter(None, (failure.cause, failure.next_step))), "red")
            self.screen.note(f"Not sent: {text}")
            self._prompt()

    async def _give(self, answer: Answer) -> None:
        """Send what a person has answered, or ask the next question."""
        self.screen.release()
        if not answer.command:
            self._prompt()
        elif self.connection is not None:
            if answer.command == "interrupt":
                self._sent_seq = None
            sent = await self.connection.send(answer.command, **answer.fields)
            self._state.own_messages.add(sent)

    def _take_interrupt(self) -> None:
        """Ctrl+C: the first asks for feedback if the agent works, the second leaves."""
        if self._questions.asks_feedback or self._may_leave or not self._options.asks:
            self.leave(ExitCode.INTERRUPTED)
        elif self._state.is_working:
            self._questions.ask_feedback()
            self._prompt()
        else:
            self._may_leave = True
            self.screen.note("Ctrl+C again leaves.")
            self._prompt()

    def _new_view(self) -> View:
        live = self._options.asks and not self._options.as_json
        return View(self.screen, self._state, live=live, thinking=self._options.thinking)
