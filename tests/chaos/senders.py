"""Senders of bad inputs (R7): each sends its rows to running processes and gives the facts it saw."""

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
from tests.chaos.api_client import ApiClient
from tests.chaos.bad_inputs import BadInput, FirstReply, RawBytes, Request
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.report import Report
from tests.chaos.scripts import DONE, Script, marking_command
from tests.chaos.testbed import Testbed
from tests.realtime.pages import Page
from tests.support.flow import IDLE_STATUSES, ObservedConversation, wait_until
from tests.support.model_script import calls, says
from tests.support.valkey_server import ValkeyServer
from tests.support.world import make_world
from tests.worker.test_external_triggers import message_fields

Seen = dict[str, Any]
REPLIES_AT_ONCE, COMMANDS_AT_ONCE = 8, 3
WAIT_SECONDS = 300
NEIGHBOUR_SECONDS = 15  # most of it is the start of a sandbox on a busy machine
BETWEEN_FRAMES_SECONDS = 0.06  # no more than 20 a second are read


@dataclass
class InputContext:
    """What senders need: the installation, a web server, an agent, and a conversation as target."""

    testbed: Testbed
    group: ConversationGroup
    port: int
    report: Report
    target: ObservedConversation
    waits: list[float] = field(default_factory=list)
    logged_errors: int = 0  # lines of the processes that were reported

    @cached_property
    def client(self) -> ApiClient:
        return ApiClient(self.port, self.group)

    @cached_property
    def placeholders(self) -> dict[str, str]:
        """Values of the placeholders in braces in the table."""
        elsewhere = make_world("elsewhere")
        return {
            "{conversation}": str(self.target.id),
            "{agent of elsewhere}": str(elsewhere.agent.pk),
            "{project of elsewhere}": str(elsewhere.project.pk),
            "{member of elsewhere}": str(elsewhere.owner.pk),
            "{chats}": self.group.chat_sessions_path,
            "{bearer}": f"Bearer {self.group.token}",
        }

    @property
    def valkey(self) -> ValkeyServer:
        assert self.testbed.valkey is not None
        return self.testbed.valkey

    def page(self) -> Page:
        """A viewer of the target conversation."""
        url = f"ws://127.0.0.1:{self.port}/ws/conversations/{self.target.id}/"
        return Page(url, {"Authorization": self.placeholders["{bearer}"]})

    def check_unrelated_conversation(self) -> None:
        """Check that an unrelated conversation, started over the API, is answered soon."""
        mark = f"neighbour-{len(self.waits)}"
        script = self.group.add_script(
            Script(mark, [calls(bash=marking_command(mark)), says(DONE)])
        )
        began = time.monotonic()
        observed = self.client.begin(script.first_message)
        wait_until(
            lambda: observed.row.status in IDLE_STATUSES,
            WAIT_SECONDS,
            lambda: f"{mark}: {observed.event_types}",
        )
        self.waits.append(time.monotonic() - began)
        if self.waits[-1] > NEIGHBOUR_SECONDS:
            self.report.fault(f"{mark} was answered after {self.waits[-1]:.1f} s")
        if observed.status != oracle.ANSWERED:
            self.report.fault(f"{mark} ended as {observed.status}")
        judge(observed, script, self)

    def fill_placeholders(self, data: bytes) -> bytes:
        for name, value in self.placeholders.items():
            data = data.replace(name.encode(), value.encode())
        return data


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


# --- Redis ----------------------------------------------------------------------------------------------


def stream(rows: Sequence[BadInput], context: InputContext) -> list[Seen]:
    """Add an entry for each row; gives its fate once none is pending."""
    sound = message_fields(context.group.world)
    with context.valkey.client(texts=False) as client:
        ids = [client.xadd(TRIGGERS, _entry({**sound, **row.payload}, context)) for row in rows]

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


def _entry(fields: Mapping[Any, Any], context: InputContext) -> dict[bytes, bytes]:
    return {
        _bytes(name): context.fill_placeholders(_bytes(value))
        for name, value in fields.items()
        if value is not None
    }


def channels(rows: Sequence[BadInput], context: InputContext) -> list[Seen]:
    """Publish a message for each row. Listeners must not even lose their connection."""
    found = []
    with context.valkey.client() as client, context.page() as page:
        page.until("ready")
        for number, row in enumerate(rows):
            channel, message = row.payload
            data = message if isinstance(message, bytes) else json.dumps(message).encode()
            before = _listeners(client)
            heard = client.publish(channel, context.fill_placeholders(data))
            page.send("ping", client_id=str(number))
            page.until(lambda frame: frame.get("type") == "pong")
            time.sleep(BETWEEN_FRAMES_SECONDS)
            found.append({"heard": heard > 0, "listens": _listeners(client) == before})
    return found


def _listeners(client: Any) -> set[str]:
    return {each["id"] for each in client.client_list(_type="pubsub")}


# --- the web server -------------------------------------------------------------------------------------


def requests(rows: Sequence[BadInput], context: InputContext) -> list[Seen]:
    return [
        _raw(row.payload, context) if row.payload.raw else _asked(row.payload, context)
        for row in rows
    ]


def _asked(request: Request, context: InputContext) -> Seen:
    body = request.body if isinstance(request.body, bytes) else json.dumps(request.body).encode()
    headers = {"Authorization": context.placeholders["{bearer}"], "Content-Type": request.kind}
    line = http.client.HTTPConnection("127.0.0.1", context.port, timeout=30)
    try:
        # The server answers a body that is too long and closes the connection.
        with suppress(ConnectionError):
            line.request("POST", context.group.chat_sessions_path + request.query, body, headers)
        answer = line.getresponse()
        said = answer.read()
    finally:
        line.close()
    return {"status": answer.status, "code": _code(said)}


def _raw(request: Request, context: InputContext) -> Seen:
    """Status 0: the server closed the connection without an answer."""
    with socket.create_connection(("127.0.0.1", context.port), timeout=30) as line:
        try:
            line.sendall(context.fill_placeholders(request.raw))
            line.shutdown(socket.SHUT_WR)
            answer = http.client.HTTPResponse(line)
            answer.begin()
            said = answer.read()
        except (OSError, http.client.HTTPException):
            return {"status": 0, "code": ""}
    return {"status": answer.status, "code": _code(said)}


def _code(said: bytes) -> Any:
    """The error code of an answer of the API; empty for any other answer."""
    try:
        return json.loads(said)["code"]
    except (ValueError, KeyError):
        return ""


def frames(rows: Sequence[BadInput], context: InputContext) -> list[Seen]:
    found: list[Seen] = []
    with context.page() as page:
        page.until("ready")
        for row in rows:
            if isinstance(row.payload, RawBytes):
                found.append(_closed(row.payload, context))
                continue
            page.socket.send(row.payload)
            found.append(page.until(lambda frame: frame["type"] in {"error", "ack"}))
            time.sleep(BETWEEN_FRAMES_SECONDS)
    return found


def _closed(wire: RawBytes, context: InputContext) -> Seen:
    with context.page() as page:
        page.until("ready")
        page.socket.socket.sendall(wire.data)
        return {"closed": page.close_code()}


# --- the agent ------------------------------------------------------------------------------------------


def replies(rows: Sequence[BadInput], context: InputContext) -> list[Seen]:
    return _run_rows(
        [(row, _of_reply(row, n)) for n, row in enumerate(rows)], context, REPLIES_AT_ONCE
    )


def _of_reply(row: BadInput, number: int) -> Script:
    mark = f"reply-{number}"
    if isinstance(row.payload, FirstReply):
        return Script(mark, [says(row.payload.expected_texts)], {0: row.payload.reply})
    return Script(mark, [row.payload, says(DONE)])


def commands(rows: Sequence[BadInput], context: InputContext) -> list[Seen]:
    scripts = [
        Script(
            f"command-{n}", [row.payload, calls(bash=marking_command(f"command-{n}")), says(DONE)]
        )
        for n, row in enumerate(rows)
    ]
    return _run_rows(list(zip(rows, scripts, strict=True)), context, COMMANDS_AT_ONCE)


def _run_rows(
    observed: Sequence[tuple[BadInput, Script]], context: InputContext, at_once: int
) -> list[Seen]:
    """Run each row in a conversation of its own, which the oracle judges."""
    group, seen = context.group, {}
    waiting, end = list(observed), time.monotonic() + WAIT_SECONDS
    while waiting or group.running:
        assert time.monotonic() < end, f"no end: {group.describe_running()}"
        while waiting and len(group.running) < at_once:
            group.begin(waiting.pop(0)[1])
            if len(waiting) == len(observed) // 2:
                context.check_unrelated_conversation()
        for one, script in group.take_idle():
            seen[script.mark] = _facts(one)
            judge(one, script, context, seen[script.mark])
        context.report.progress(f"{len(seen)} of {len(observed)}")
        time.sleep(0.05)
    return [seen[script.mark] for _, script in observed]


def judge(
    observed: ObservedConversation, script: Script, context: InputContext, case: object = ""
) -> None:
    """Judge the conversation by the oracle and read it over the API; then delete its sandbox."""
    context.client.open(observed)
    in_sandbox = observed.has_event("sandbox.started")
    effects = context.testbed.effects(observed) if in_sandbox else Counter[str]()
    context.report.breaches(
        observed, oracle.judge(observed, script, effects), f"{script.mark} {case}"[:600]
    )
    if in_sandbox:
        context.testbed.delete_sandbox(observed)


def _facts(observed: ObservedConversation) -> Seen:
    ended = {each["call_id"]: each for each in observed.event_data("tool.returned")}
    results = [
        ended[c["call_id"]] for c in observed.event_data("tool.called") if c["call_id"] in ended
    ]
    outputs = [result["output"] for result in results]
    causes = [each["cause"] for each in observed.event_data("model.retried")]
    return {
        "status": observed.status,
        "retried": len(causes),
        "because": "\n".join(causes),
        "cause": results[0]["cause"] if results else None,
        "output": "\n".join(outputs),
        "after": outputs[-1].partition("\n")[0] if outputs else None,
    }


SENDERS: dict[str, Callable[[Sequence[BadInput], InputContext], list[Seen]]] = {
    sender.__name__: sender for sender in (stream, channels, requests, frames, replies, commands)
}
NEED_REDIS = ("stream", "channels")
