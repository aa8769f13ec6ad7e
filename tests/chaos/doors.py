"""R7's doors: each puts its rows into the real product and tells what it saw of them."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from paca.bus.redis.bus import DEAD_TRIGGERS, GROUP, TRIGGERS
from tests.chaos import oracle
from tests.chaos.bad_inputs import Instead, Request, Row, Wire
from tests.chaos.calling import Caller
from tests.chaos.cast import Cast
from tests.chaos.ground import Ground
from tests.chaos.report import Report
from tests.chaos.stories import DONE, Story, leaves
from tests.conversations.test_triggers import a_message
from tests.realtime.pages import Page
from tests.support.flow import IDLE_STATUSES, ObservedConversation, wait_until
from tests.support.model_script import calls, says
from tests.support.valkey_server import ValkeyServer
from tests.support.world import make_world

Seen = dict[str, Any]
REPLIES_AT_ONCE, COMMANDS_AT_ONCE = 8, 3
WAIT_SECONDS = 300
NEIGHBOUR_SECONDS = 15  # of which most is the start of a sandbox on a busy machine
BETWEEN_FRAMES_SECONDS = 0.06  # no more than 20 a second are read


@dataclass
class Scene:
    """Where it takes place: a web server, an agent, and a conversation to aim at."""

    ground: Ground
    cast: Cast
    port: int
    report: Report
    target: ObservedConversation
    waits: list[float] = field(default_factory=list)
    complaints: int = 0  # of the processes, that have been told

    @cached_property
    def caller(self) -> Caller:
        return Caller(self.port, self.cast)

    @cached_property
    def names(self) -> dict[str, str]:
        """What stands in braces in the table."""
        elsewhere = make_world("elsewhere")
        return {
            "{conversation}": str(self.target.id),
            "{agent of elsewhere}": str(elsewhere.agent.pk),
            "{project of elsewhere}": str(elsewhere.project.pk),
            "{member of elsewhere}": str(elsewhere.owner.pk),
            "{chats}": self.cast.chats,
            "{bearer}": f"Bearer {self.cast.token}",
        }

    @property
    def valkey(self) -> ValkeyServer:
        assert self.ground.valkey is not None
        return self.ground.valkey

    def page(self) -> Page:
        """Somebody who looks at the conversation."""
        url = f"ws://127.0.0.1:{self.port}/ws/conversations/{self.target.id}/"
        return Page(url, {"Authorization": self.names["{bearer}"]})

    def ask_a_neighbour(self) -> None:
        """A conversation that has nothing to do with it, begun over the API, is answered soon."""
        mark = f"neighbour-{len(self.waits)}"
        story = self.cast.know(Story(mark, [calls(bash=leaves(mark)), says(DONE)]))
        began = time.monotonic()
        told = self.caller.begin(story.opening)
        wait_until(
            lambda: told.row.status in IDLE_STATUSES,
            WAIT_SECONDS,
            lambda: f"{mark}: {told.event_types}",
        )
        self.waits.append(time.monotonic() - began)
        if self.waits[-1] > NEIGHBOUR_SECONDS:
            self.report.fault(f"{mark} was answered after {self.waits[-1]:.1f} s")
        if told.status != oracle.ANSWERED:
            self.report.fault(f"{mark} ended as {told.status}")
        judge(told, story, self)

    def named(self, data: bytes) -> bytes:
        for name, value in self.names.items():
            data = data.replace(name.encode(), value.encode())
        return data


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


# --- Redis ----------------------------------------------------------------------------------------------


def stream(rows: Sequence[Row], scene: Scene) -> list[Seen]:
    """An entry each, and what has become of it when none is in hand any more."""
    sound = a_message(scene.cast.world)
    with scene.valkey.client(texts=False) as client:
        ids = [client.xadd(TRIGGERS, _entry({**sound, **row.put}, scene)) for row in rows]

        def handled() -> bool:
            (group,) = (g for g in client.xinfo_groups(TRIGGERS) if g["name"] == GROUP.encode())
            return group["lag"] == 0 and group["pending"] == 0

        wait_until(handled, WAIT_SECONDS)
        aside = {
            fields[b"entry_id"]: fields[b"reason"] for _, fields in client.xrange(DEAD_TRIGGERS)
        }
    return [
        {"fate": "set aside", "reason": aside[id_].decode()} if id_ in aside else {"fate": "taken"}
        for id_ in ids
    ]


def _entry(fields: Mapping[Any, Any], scene: Scene) -> dict[bytes, bytes]:
    return {
        _bytes(name): scene.named(_bytes(value))
        for name, value in fields.items()
        if value is not None
    }


def channels(rows: Sequence[Row], scene: Scene) -> list[Seen]:
    """A message each, while somebody looks on; whoever listens must not even lose its connection."""
    found = []
    with scene.valkey.client() as client, scene.page() as page:
        page.wait_until("ready")
        for number, row in enumerate(rows):
            channel, message = row.put
            data = message if isinstance(message, bytes) else json.dumps(message).encode()
            before = _listeners(client)
            heard = client.publish(channel, scene.named(data))
            page.send("ping", client_id=str(number))
            page.wait_until(lambda frame: frame.get("type") == "pong")
            time.sleep(BETWEEN_FRAMES_SECONDS)
            found.append({"heard": heard > 0, "listens": _listeners(client) == before})
    return found


def _listeners(client: Any) -> set[str]:
    return {each["id"] for each in client.client_list(_type="pubsub")}


# --- the web server -------------------------------------------------------------------------------------


def requests(rows: Sequence[Row], scene: Scene) -> list[Seen]:
    return [_raw(row.put, scene) if row.put.raw else _asked(row.put, scene) for row in rows]


def _asked(request: Request, scene: Scene) -> Seen:
    body = request.body if isinstance(request.body, bytes) else json.dumps(request.body).encode()
    headers = {"Authorization": scene.names["{bearer}"], "Content-Type": request.kind}
    line = http.client.HTTPConnection("127.0.0.1", scene.port, timeout=30)
    try:
        with suppress(ConnectionError):  # it hangs up on who sends too much, and has said why
            line.request("POST", scene.cast.chats + request.query, body, headers)
        answer = line.getresponse()
        said = answer.read()
    finally:
        line.close()
    return {"status": answer.status, "code": _code(said)}


def _raw(request: Request, scene: Scene) -> Seen:
    """Status 0: it hung up without a word."""
    with socket.create_connection(("127.0.0.1", scene.port), timeout=30) as line:
        try:
            line.sendall(scene.named(request.raw))
            line.shutdown(socket.SHUT_WR)
            answer = http.client.HTTPResponse(line)
            answer.begin()
            said = answer.read()
        except (OSError, http.client.HTTPException):
            return {"status": 0, "code": ""}
    return {"status": answer.status, "code": _code(said)}


def _code(said: bytes) -> Any:
    """That of the error; empty where the answer is not the API's."""
    try:
        return json.loads(said)["code"]
    except (ValueError, KeyError):
        return ""


def frames(rows: Sequence[Row], scene: Scene) -> list[Seen]:
    found: list[Seen] = []
    with scene.page() as page:
        page.wait_until("ready")
        for row in rows:
            if isinstance(row.put, Wire):
                found.append(_closed(row.put, scene))
                continue
            page.socket.send(row.put)
            found.append(page.wait_until(lambda frame: frame["type"] in {"error", "ack"}))
            time.sleep(BETWEEN_FRAMES_SECONDS)
    return found


def _closed(wire: Wire, scene: Scene) -> Seen:
    with scene.page() as page:
        page.wait_until("ready")
        page.socket.socket.sendall(wire.data)
        return {"closed": page.close_code()}


# --- the agent ------------------------------------------------------------------------------------------


def replies(rows: Sequence[Row], scene: Scene) -> list[Seen]:
    return _told([(row, _of_reply(row, n)) for n, row in enumerate(rows)], scene, REPLIES_AT_ONCE)


def _of_reply(row: Row, number: int) -> Story:
    mark = f"reply-{number}"
    if isinstance(row.put, Instead):
        return Story(mark, [says(row.put.words)], {0: row.put.reply})
    return Story(mark, [row.put, says(DONE)])


def commands(rows: Sequence[Row], scene: Scene) -> list[Seen]:
    stories = [
        Story(f"command-{n}", [row.put, calls(bash=leaves(f"command-{n}")), says(DONE)])
        for n, row in enumerate(rows)
    ]
    return _told(list(zip(rows, stories, strict=True)), scene, COMMANDS_AT_ONCE)


def _told(told: Sequence[tuple[Row, Story]], scene: Scene, at_once: int) -> list[Seen]:
    """Each row in a conversation of its own, which the oracle judges."""
    cast, seen = scene.cast, {}
    waiting, end = list(told), time.monotonic() + WAIT_SECONDS
    while waiting or cast.running:
        assert time.monotonic() < end, f"no end: {cast.where()}"
        while waiting and len(cast.running) < at_once:
            cast.begin(waiting.pop(0)[1])
            if len(waiting) == len(told) // 2:
                scene.ask_a_neighbour()
        for one, story in cast.rested():
            seen[story.mark] = _facts(one)
            judge(one, story, scene, seen[story.mark])
        scene.report.progress(f"{len(seen)} of {len(told)}")
        time.sleep(0.05)
    return [seen[story.mark] for _, story in told]


def judge(told: ObservedConversation, story: Story, scene: Scene, case: object = "") -> None:
    """By the oracle, and by opening it; then its sandbox is removed, with its files."""
    scene.caller.open(told)
    in_sandbox = told.has_event("sandbox.started")
    effects = scene.ground.effects(told) if in_sandbox else Counter[str]()
    scene.report.breaches(told, oracle.judge(told, story, effects), f"{story.mark} {case}"[:600])
    if in_sandbox:
        scene.ground.forget(told)


def _facts(told: ObservedConversation) -> Seen:
    ended = {each["call_id"]: each for each in told.event_data("tool.returned")}
    results = [ended[c["call_id"]] for c in told.event_data("tool.called") if c["call_id"] in ended]
    outputs = [result["output"] for result in results]
    causes = [each["cause"] for each in told.event_data("model.retried")]
    return {
        "status": told.status,
        "retried": len(causes),
        "because": "\n".join(causes),
        "cause": results[0]["cause"] if results else None,
        "output": "\n".join(outputs),
        "after": outputs[-1].partition("\n")[0] if outputs else None,
    }


DOORS: dict[str, Callable[[Sequence[Row], Scene], list[Seen]]] = {
    door.__name__: door for door in (stream, channels, requests, frames, replies, commands)
}
OF_REDIS = ("stream", "channels")
