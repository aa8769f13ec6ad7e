"""Traces of model calls for tests, without a model server."""

import json
import time
from typing import Any
from uuid import UUID, uuid4

from paca.common import clock
from paca.conversations.traces import contents, store
from paca.conversations.traces.store import EndedCall, KnownBody
from paca.engine.llm.base import Reply, StopReason, Text, Usage
from paca.engine.llm.call_recording import CallRecording, Exchange
from paca.engine.llm.retrying import Attempt
from paca.events import UsageRecorded

URL = "https://models.example/v1/chat/completions"
NOTHING_KNOWN = KnownBody()


def body_of(steps: int, *, words: int = 200) -> bytes:
    """The request of a conversation after some steps, as an adapter encodes it."""
    messages = [
        {"role": ("user", "assistant")[n % 2], "content": f"{n}: " + f"word{n} " * words}
        for n in range(2 * steps + 1)
    ]
    tools = [{"name": f"tool{n}", "description": "does something " * 20} for n in range(10)]
    return json.dumps({"model": "m", "messages": messages, "stream": True, "tools": tools}).encode()


def ended_call(body: bytes, *, days_ago: float = 0, secrets: set[str] | None = None) -> EndedCall:
    """A call that sent this body and was answered."""
    recording = CallRecording(asked_at=time.time() - days_ago * 86400, secrets=secrets or set())
    now = clock.monotonic()
    headers = [(b"authorization", b"Bearer sk-secret-key"), (b"content-type", b"application/json")]
    answered = [(b"x-request-id", b"req_1"), (b"set-cookie", b"session=abc")]
    recording.add(
        Exchange("POST", URL, headers, body, now, 200, answered, b"", now + 0.1, now + 0.3)
    )
    reply = Reply((Text("Hello."),), StopReason.END, Usage(3, 4))
    attempt = Attempt(1, sent=True, done=True, reply=reply, first_token_seconds=0.2)
    return EndedCall(UsageRecorded(call_id=uuid4().hex, model="m/x"), 1, attempt, recording)


def keep(
    conversation: Any, body: bytes, known: KnownBody = NOTHING_KNOWN, **facts: Any
) -> tuple[str, KnownBody]:
    """Store the trace of a call as a worker does; gives the id of the call."""
    call = ended_call(body, **facts)
    made = contents.make(call.recording, call.attempt, ())
    known = store.store(UUID(str(conversation)), call, made, known)
    return call.usage.call_id, known
