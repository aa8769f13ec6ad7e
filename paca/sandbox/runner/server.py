"""The main loop of the runner: attaches one worker at a time to each session, and passes on requests and updates of calls.

A conversation has one session, and each helper that uses its sandbox has another one.
"""

from __future__ import annotations

import os
import select
import time

from paca.sandbox.runner import (
    EXHAUSTED_EXIT_CODE,
    PROTOCOL_KEY,
    SESSION_KEY,
    UNATTENDED_SECONDS_KEY,
)
from paca.sandbox.runner.channel import Channel
from paca.sandbox.runner.errors import RequestError, RunnerExhausted
from paca.sandbox.runner.signals import SIGCHLD, set_wakeup_fd, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from paca.sandbox.runner.requests import RequestHandler

# The start, output and end of a short command are sent together: each send may pass several processes.
COALESCE_SECONDS = 0.003
KEPT_IDS = 1000  # of requests of a session that came last
# A helper's worker joins: a runner from before there were sessions ignores that, and then it is replaced. It would
# take "attach" as that of the conversation itself, and each helper would supersede the other ones.
ATTACHES = ("attach", "join")
STARTS_UPDATES = ("run", "follow", "open")  # requests after which the worker gets updates of a call
TOLERATED_ERRORS = (
    RequestError,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    MemoryError,
    RecursionError,
)


class Session:
    """The attachment of one worker: its ``name``, the channel and the nonce of its frames, and the calls it follows."""

    def __init__(self, name: str, channel: Channel, nonce: str) -> None:
        self.name = name
        self.channel = channel
        self.nonce = nonce
        self.calls: set[str] = set()
        self._seen: set[int] = set()
        self._oldest = 0

    def has_seen(self, number: Any) -> bool:
        """Whether the request with this id came before. On a shared channel a worker may send one again."""
        # A ping has the id 0, and no effect.
        if not self.channel.shared or not isinstance(number, int) or number <= 0:
            return False
        # guard: runner-carries-a-request-out-once
        if number <= self._oldest or number in self._seen:
            return True
        self._seen.add(number)
        if len(self._seen) > 2 * KEPT_IDS:
            self._oldest = sorted(self._seen)[-KEPT_IDS]
            self._seen = {each for each in self._seen if each > self._oldest}
        return False

    def send(self, message: dict[str, Any]) -> None:
        """Queue a frame for the worker."""
        self.channel.send(message, nonce=self.nonce)


class RunnerServer:
    """Serves workers until none has been attached for ``unattended_seconds``.

    ``epoch``: the lowest that may attach. Workers connect to the socket ``listener``, where ``accept``
    gives the descriptor of a new connection, or they all use one ``shared`` channel.
    """

    def __init__(
        self,
        *,
        listener: int = -1,
        accept: Callable[[], int] | None = None,
        shared: Channel | None = None,
        epoch: int,
        unattended_seconds: float,
        settings: dict[str, Any],
    ) -> None:
        self.boot_id = os.urandom(8).hex()
        self._accept = accept
        self._listener = listener
        self._epochs = {"": epoch}
        self._unattended_seconds = unattended_seconds
        self._unattended_since = self._attached_at = time.monotonic()
        self._ending = False
        self.exit_code = 0
        self._flush_at = 0.0
        self._channels: dict[int, Channel] = {}
        self._sessions: dict[str, Session] = {}
        self._poll = select.epoll()
        if shared is None:
            self._poll.register(listener, select.EPOLLIN)
        else:
            self._add_channel(shared)
        self._wakeup = self._watch_children()
        self._settings = settings
        self._handler: RequestHandler | None = None

    def _watch_children(self) -> int:
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        os.set_blocking(write_end, False)
        set_wakeup_fd(write_end, warn_on_full_buffer=False)
        signal(SIGCHLD, lambda *_: None)
        self._poll.register(read_end, select.EPOLLIN)
        return read_end

    @property
    def _request_handler(self) -> RequestHandler:
        """Loaded after the first worker has attached, because loading takes longer than the rest of the start."""
        if self._handler is None:
            from paca.sandbox.runner.requests import RequestHandler

            self._handler = RequestHandler(
                self._settings, poll=self._poll, send_update=self._send_update
            )
        return self._handler

    def serve(self) -> None:
        """Serve workers until none has been attached for long enough, or one asks the runner to end."""
        wait = self._unattended_seconds
        while wait >= 0 and not self._ending:
            for fd, _ in self._poll.poll(wait):
                self._handle_ready_fd(fd)
            self._flush()  # the answer to an attach goes first: the next step may load modules
            wait = self._tick()
            self._flush()
            if self._flush_at:
                wait = min(wait, COALESCE_SECONDS)

    def _handle_ready_fd(self, fd: int) -> None:
        if fd == self._listener:
            self._accept_worker()
        elif fd == self._wakeup:
            os.read(fd, 4096)
            self._request_handler.reap()
        elif fd in self._channels:
            self._read_channel(self._channels[fd])
        elif self._handler is not None:  # otherwise the writing side of a shared channel is ready
            self._handler.read_output(fd)

    def _tick(self) -> float:
        """Do what is due. Gives the seconds until something is due again; a negative number ends the runner."""
        if self._ending:
            return 0.0  # one that can open nothing more could not check its limits either
        now = time.monotonic()
        if self._ending:  # perhaps because it can open nothing more, as the checks would have to
            return 0.0
        if any(not session.channel.shared for session in self._sessions.values()):
            return self._request_handler.tick(now)
        if self._handler is not None and self._handler.busy:
            self._unattended_since = now
            return self._handler.tick(now)
        left = self._unattended_since + self._unattended_seconds - now
        if left <= 0 or (self._handler is None and not self._sessions):
            return left
        return min(left, self._request_handler.tick(now))

    # --- connections ------------------------------------------------------------------------------

    def _accept_worker(self) -> None:
        assert self._accept is not None
        try:
            fd = self._accept()
        except OSError:  # the worker has already disconnected
            return
        self._add_channel(Channel(fd))

    def _add_channel(self, channel: Channel) -> None:
        os.set_blocking(channel.fd, False)
        os.set_blocking(channel.out_fd, False)
        self._channels[channel.fd] = channel
        self._poll.register(channel.fd, select.EPOLLIN)

    def _flush(self) -> None:
        if self._flush_at and self._request_handler.busy and time.monotonic() < self._flush_at:
            return
        self._flush_at = 0.0
        for channel in self._channels.values():
            was_blocked, channel.is_blocked = channel.is_blocked, channel.flush()
            if channel.is_blocked != was_blocked:
                self._watch_for_writable(channel)

    def _watch_for_writable(self, channel: Channel) -> None:
        if not channel.shared:
            more = select.EPOLLOUT if channel.is_blocked else 0
            self._poll.modify(channel.fd, select.EPOLLIN | more)
        elif channel.is_blocked:
            self._poll.register(channel.out_fd, select.EPOLLOUT)
        else:
            self._poll.unregister(channel.out_fd)

    def _drop_channel(self, channel: Channel) -> None:
        del self._channels[channel.fd]
        self._poll.unregister(channel.fd)
        channel.close()
        self._ending = self._ending or channel.shared  # no worker can connect again
        for session in [each for each in self._sessions.values() if each.channel is channel]:
            self._detach_worker(session)

    def _detach_worker(self, session: Session) -> None:
        """Forget the worker of a session, which is gone. Its calls continue."""
        if self._sessions.get(session.name) is session:
            del self._sessions[session.name]
        self._unattended_since = time.monotonic()
        if self._handler is not None:
            self._handler.unfollow(session.calls, last=not self._sessions)

    def _read_channel(self, channel: Channel) -> None:
        frames = channel.receive()
        if frames is None:
            self._drop_channel(channel)
            return
        for nonce, message in frames:
            if message.get("op") in ATTACHES:
                self._attach(channel, nonce, message)
            elif message.get("op") == "retire":
                self._retire(channel, nonce, message)
            elif session := self._session_of(channel, nonce):
                self._unattended_since = time.monotonic()
                if not session.has_seen(message.get("id")):
                    self._handle_request(session, message)
            # Other frames are ignored: their nonce is foreign, or their worker is superseded.
            if channel.fd not in self._channels:
                return

    def _session_of(self, channel: Channel, nonce: str) -> Session | None:
        for session in self._sessions.values():
            if session.channel is channel and session.nonce == nonce:
                return session
        return None

    def _attach(self, channel: Channel, nonce: str, message: dict[str, Any]) -> None:
        epoch, name = message.get("epoch"), message.get(SESSION_KEY) or ""
        # guard: runner-attachment-epoch
        if not isinstance(epoch, int) or epoch < self._epochs.get(name, 0):
            channel.send({"re": message.get("id"), "error": {"code": "superseded"}}, nonce=nonce)
            channel.flush()
            return
        unattended_seconds = message.get(UNATTENDED_SECONDS_KEY)
        # The setting may have changed since the start.
        if isinstance(unattended_seconds, int | float):
            self._unattended_seconds = unattended_seconds
        self._settings[PROTOCOL_KEY] = message.get(PROTOCOL_KEY, 1)
        previous = self._sessions.get(name)
        self._epochs[name] = epoch
        if not [each for each in self._sessions.values() if each is not previous]:
            channel.drop_long_queue()
        if previous is not None:
            self._supersede(previous, channel, nonce)
        self._sessions[name] = Session(name, channel, nonce)
        self._unattended_since = self._attached_at = time.monotonic()
        self._sessions[name].send({"re": message.get("id"), "ok": self._welcome()})

    def _welcome(self) -> dict[str, Any]:
        """This runner for the worker that attaches. ``idle``: no call runs, and no other worker uses it."""
        is_busy = self._handler is not None and self._handler.is_busy
        return {
            "boot_id": self.boot_id,
            "has_gate": bool(self._settings.get("has_gate")),
            "idle": not is_busy and len(self._sessions) == 1,
        }

    def _supersede(self, previous: Session, channel: Channel, nonce: str) -> None:
        """Tell the worker of a session that another one has taken its place."""
        if previous.nonce != nonce:
            previous.send({"superseded": True})
        self._detach_worker(previous)
        if previous.channel is not channel:
            previous.channel.flush()
            self._drop_channel(previous.channel)

    def _retire(self, channel: Channel, nonce: str, message: dict[str, Any]) -> None:
        """End the runner, unless a worker has attached within ``unused_seconds``: the sweeper cannot know that."""
        unused = message.get("unused_seconds")
        if isinstance(unused, int | float):
            self._ending = time.monotonic() - self._attached_at > unused
        channel.send({"re": message.get("id"), "ok": self._ending}, nonce=nonce)

    # --- requests ---------------------------------------------------------------------------------

    def _handle_request(self, session: Session, message: dict[str, Any]) -> None:
        number = message.get("id")
        if message.get("op") == "detach":
            self._detach_worker(session)
            return

        def reply(value: Any) -> None:
            if self._sessions.get(session.name) is session:
                session.send({"re": number, "ok": value})

        if message.get("op") == "run":
            self._flush_at = time.monotonic() + COALESCE_SECONDS
        if message.get("op") in STARTS_UPDATES and isinstance(message.get("call_id"), str):
            session.calls.add(message["call_id"])
        try:
            self._request_handler.handle(message, reply)
        except TOLERATED_ERRORS as error:  # a failed request must not end the sandbox
            if isinstance(error, RunnerExhausted):
                self._ending, self.exit_code = True, EXHAUSTED_EXIT_CODE
            session.send({"re": number, "error": _describe_error(error)})

    def _send_update(self, update: dict[str, Any], dispensable: bool) -> bool:
        """Send an update of a call to the worker that follows it; False if it was not sent."""
        sent = False
        for session in self._sessions.values():
            if update["call"] not in session.calls:
                continue
            if not (dispensable and session.channel.is_congested):
                session.send(update)
                sent = True
        return sent


def _describe_error(error: Exception) -> dict[str, str]:
    """The code and detail from which the worker makes its exception."""
    if isinstance(error, RequestError):
        return {"code": error.code, "detail": error.detail}
    if isinstance(error, FileNotFoundError):
        return {"code": "no_such_file", "detail": ""}
    detail = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
    return {"code": "workspace_error", "detail": detail or ""}
