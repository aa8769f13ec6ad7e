"""A scripted model server over real HTTP, for tests, benches and manual runs.

It speaks Anthropic's dialect and OpenAI's, each at its own path.
``with ModelServer() as server:`` starts it in its own thread on a free port. Replies come from
``server.script(...)``, from a ``[[fake ...]]`` directive in a user's message, or are a plain answer.
As a program: ``python -m tests.support.model_server --port 9000``.
"""

import argparse
import asyncio
import contextlib
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, Self

from tests.support import anthropic_dialect
from tests.support.model_connection import Connection, Received
from tests.support.model_script import Directive, Raw, Scripted, says

ReplyFunction = Callable[[dict[str, Any]], Scripted | Raw]


class ModelServer:
    """The server: its script and the requests that it received."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.requests: list[Received] = []
        self.violations: list[str] = []
        self.in_flight = 0
        self.closed_by_client = 0
        self.connections = 0
        self.served: list[str] | None = ["gpt-test", "other-test"]
        self.served_object = "model"  # the kind of each entry of that list
        self.wants_key = ""  # only for the list of models
        self.listed = 0
        self.record = True  # off in long benches, where keeping each body would cost memory
        self._queue: deque[Scripted | Raw] = deque()
        self._queues: dict[str, deque[Scripted | Raw]] = {}
        self._program: ReplyFunction | None = None
        self._faults: Counter[tuple[str, int, int]] = Counter()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="model-server", daemon=True)

    # --- replies ---

    def script(
        self, replies: Iterable[Scripted | Raw] | ReplyFunction, *, to: str | None = None
    ) -> Self:
        """Answer with these replies, one for each request.

        With ``to`` they are for conversations whose first message contains this text. A function gives
        the reply to each request.
        """
        if callable(replies):
            self._program = replies
        elif to is None:
            self._queue = deque(replies)
        else:
            self._queues[to] = deque(replies)
        return self

    def next_reply(self, body: dict[str, Any], dialect: Any = anthropic_dialect) -> Scripted | Raw:
        if self._program is not None:
            return self._program(body)
        if not self._queues and self._queue:
            return self._queue.popleft()
        messages = dialect.conversation(body)
        first = dialect.text_of(messages[0])
        for mark, queue in self._queues.items():
            if mark in first and queue:
                return queue.popleft()
        if self._queue:
            return self._queue.popleft()
        return self._directed_reply(first, messages, dialect)

    def _directed_reply(self, first: str, messages: list[dict[str, Any]], dialect: Any) -> Scripted:
        """The reply of the newest directive until its turns are over; then a plain answer."""
        asked = [(n, dialect.text_of(m)) for n, m in enumerate(messages) if m["role"] == "user"]
        directed = [(n, found) for n, text in asked if (found := Directive.found_in(text))]
        newest = next((text for _, text in reversed(asked) if text), "")
        plain = says(f"You said: {newest[:200]}")
        if not directed:
            return plain
        at, directive = directed[-1]
        since = [m for m in messages[at:] if m["role"] == "assistant"]
        turn = sum(map(dialect.is_tool_turn, since))
        if turn >= directive.turns and len(since) > turn:
            return plain
        for number, fault in enumerate(directive.faults):
            key = (f"{at}:{first}", turn, number)
            if fault.turn in (None, turn) and self._faults[key] < fault.times:
                self._faults[key] += 1
                return directive.broken(turn, fault.kind)
        return directive.reply(turn)

    # --- start and end ---

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(60):
            raise RuntimeError("the model server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(10)

    def wait_until_idle(self, seconds: float = 20.0) -> bool:
        """True once no answer is in flight, False if that takes longer than ``seconds``."""
        return _wait(lambda: self.in_flight == 0, seconds)

    def wait_until_busy(self, seconds: float = 20.0) -> bool:
        """True once an answer is in flight."""
        return _wait(lambda: self.in_flight > 0, seconds)

    def close_connections(self) -> None:
        """Close every connection, as a server does with one that was idle for long."""

        def close() -> None:
            for connection in list(self.open_connections):
                connection.transport.close()

        self._loop.call_soon_threadsafe(close)
        assert _wait(lambda: not self.open_connections, 5)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._main())
        self._loop.close()

    async def _main(self) -> None:
        self._stopping = asyncio.Event()
        self.open_connections: set[Connection] = set()
        server = await self._loop.create_server(lambda: Connection(self), "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        await asyncio.sleep(
            0
        )  # a client that was just accepted becomes a connection, which is then closed too
        tasks = [c.task for c in self.open_connections if c.task is not None]
        for connection in list(self.open_connections):
            connection.transport.abort()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < until:
        time.sleep(0.005)
    return met


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model server.")
    parser.add_argument("--port", type=int, default=9000)
    with ModelServer(parser.parse_args().port) as server:
        sys.stdout.write(f"base URL {server.base_url}; any key; Ctrl-C ends it\n")
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)


if __name__ == "__main__":
    main()
