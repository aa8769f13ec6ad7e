"""Shared by the tests of sockets: a chat, and a page with a socket."""

import contextlib
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.test import Client
from django.urls import path
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from paca import events
from paca.accounts.models import User
from paca.accounts.services import tokens
from paca.bus import get_bus
from paca.conversations import services, store
from paca.conversations.models import Conversation
from paca.projects.models import Member
from paca.projects.services import members, workspaces
from paca.realtime.consumers import ConversationConsumer, ProjectConsumer
from paca.realtime.database import events_after, latest_seqs
from paca.realtime.origin_check import OriginGuard
from paca.realtime.relay import SWEEP_SECONDS, Lifespan, Relay
from tests.support.world import World, make_world


@dataclass(frozen=True)
class Chat:
    """A project with one conversation that has one message."""

    world: World
    conversation: Conversation

    @property
    def id(self) -> UUID:
        return self.conversation.pk

    @property
    def owner(self) -> User:
        return self.world.user

    def add_member(self, username: str, role: str) -> Member:
        """Create a person and make them a member of the project with this role."""
        user = User.objects.create_user(username=username, password="a long password 8")
        workspaces.add_person(self.world.project.workspace, user=user)
        return members.add_person(
            self.world.project, user=user, role=self.world.role(role), by=self.owner
        )

    def append_messages(self, count: int = 1, text: str = "word") -> int:
        """Append messages of the agent to the log and give the seq of the last."""
        for n in range(count):
            last = store.append(self.id, events.MessageSpoken(text=f"{text} {n}"))
        return last.last_seq


def make_chat(name: str = "Harbor") -> Chat:
    world = make_world(name)
    sent = services.start_chat(world.agent, text="Hello", by=world.owner)
    return Chat(world, Conversation.objects.get(pk=sent.conversation_id))


def application(
    conversation: type[ConversationConsumer] = ConversationConsumer,
    project: type[ProjectConsumer] = ProjectConsumer,
    sweep_seconds: float = SWEEP_SECONDS,
) -> Any:
    """Paca's sockets as an ASGI application, with other consumers or sweeps if given."""
    sockets = URLRouter(
        [
            path("ws/conversations/<uuid:id>/", conversation.as_asgi()),
            path("ws/projects/<uuid:id>/", project.as_asgi()),
        ]
    )
    return ProtocolTypeRouter(
        {
            "websocket": OriginGuard(sockets),
            "lifespan": Lifespan(
                lambda: Relay(get_bus(), latest_seqs, events_after, sweep_seconds=sweep_seconds)
            ),
        }
    )


def session_cookie(user: User) -> str:
    browser = Client()
    browser.force_login(user)
    return f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"


def create_token(user: User, *scopes: str) -> str:
    _token, secret = tokens.create(user, name="a test", scopes=list(scopes), by=user)
    return secret


def session_headers(server: Any, user: User) -> dict[str, str]:
    """The headers of a page of Paca on which this person is signed in."""
    return {"Cookie": session_cookie(user), "Origin": server.url}


def bearer_headers(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@dataclass
class Page:
    """A socket as a page uses it. ``frames`` keeps every frame received."""

    url: str
    headers: dict[str, str]
    frames: list[dict[str, Any]] = field(default_factory=list)
    closed_with: int | None = None
    _passed_over: deque[dict[str, Any]] = field(default_factory=deque)

    def __enter__(self) -> "Page":
        self._open = contextlib.ExitStack()
        self.socket = self._open.enter_context(
            connect(
                self.url,
                additional_headers=self.headers,
                compression=None,
                max_size=None,
                max_queue=None,  # with a limit, leaving in the middle of a replay takes ten seconds
            )
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def next(self, seconds: float = 5) -> dict[str, Any]:
        """The next frame. Raises ``EOFError`` if the server closes the socket; see ``closed_with``."""
        if self._passed_over:
            return self._passed_over.popleft()
        try:
            text = self.socket.recv(timeout=seconds)
        except ConnectionClosed as closed:
            self.closed_with = closed.rcvd.code if closed.rcvd else None
            raise EOFError(f"closed with {self.closed_with}") from None
        self.frames.append(json.loads(text))
        return self.frames[-1]

    def until(self, wanted: str | Callable[[dict[str, Any]], bool], seconds: float = 10) -> Any:
        """Read up to the first frame of this type, or for which this function is true."""
        while True:
            frame = self.next(seconds)
            if frame["type"] == wanted if isinstance(wanted, str) else wanted(frame):
                return frame

    def send(self, type: str, **fields: Any) -> None:
        with contextlib.suppress(ConnectionClosed):  # reading gives the close code
            self.socket.send(json.dumps({"type": type, **fields}))

    def ask(self, type: str, **fields: Any) -> dict[str, Any]:
        """Send a command and read up to its answer.

        Events before the answer are read by the next ``until``: a short turn may end before its ack comes.
        """
        self.send(type, **fields)
        events = []
        while (frame := self.next(10))["type"] not in {"ack", "error", "pong"}:
            events.append(frame)
        self._passed_over.extendleft(reversed(events))
        return frame

    def close_code(self, seconds: float = 5) -> int | None:
        """Read to the end and give the code with which the server closed the socket."""
        try:
            while True:
                self.next(seconds)
        except EOFError:
            return self.closed_with

    @property
    def seqs(self) -> list[int]:
        return [frame["seq"] for frame in self.frames if frame.get("source") and frame["seq"]]


def conversation_page(
    server: Any, conversation_id: UUID, headers: dict[str, str], after: int | str = ""
) -> Page:
    query = f"?after={after}" if after != "" else ""
    return Page(f"{server.ws_url}/ws/conversations/{conversation_id}/{query}", headers)
