"""The trace of a conversation as objects of the API, and as a file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from paca.accounts import audit
from paca.common.errors import NotFound
from paca.common.text import to_utf8
from paca.conversations.export import ExportFile, file_name, write_file
from paca.conversations.models import Conversation, TracedCall
from paca.conversations.telemetry import otlp, spans
from paca.conversations.traces import store, timeline
from paca.conversations.traces.contents import Contents
from paca.projects.models import Member

# Of all request bodies in one file.
MAX_BODIES_BYTES = 512 << 20


def call_object(conversation: Conversation, call_id: str) -> dict[str, Any]:
    """A traced model call with its requests and its reply, as JSON values.

    Raises ``NotFound`` if the conversation has no trace of such a call, or traces are forbidden.
    """
    try:
        pk = UUID(call_id)
    except ValueError:
        raise NotFound("There is no call of this id.") from None
    # guard: trace-of-the-conversation
    rows = TracedCall.objects.filter(call_id=pk, trace=conversation.pk)
    found = rows.select_related("trace").first() if settings.TRACING else None
    if found is None:
        raise NotFound("There is no trace of this call.")
    return _object(found, store.read(found))


def to_json(conversation: Conversation, described: Mapping[str, Any], *, by: Member) -> ExportFile:
    """The whole trace as one JSON object. ``described`` is the conversation as the API shows it.

    Who took it away is written to the audit trail. Requests repeat one another, so their bodies may take many
    times the space of the trace: of those beyond ``MAX_BODIES_BYTES`` the oldest are left out.
    """
    pieces = _pieces(conversation, described)
    name = f"{file_name(conversation)}-trace.json"
    return _audited(write_file(map(to_utf8, pieces), name, "application/json"), conversation, by)


def to_otlp(conversation: Conversation, *, by: Member) -> ExportFile:
    """The spans of all ended turns, as a request of OTLP in JSON, without contents. It is audited too."""
    made = otlp.request([*spans.of_conversation(conversation)], service=settings.OTEL_SERVICE_NAME)
    name = f"{file_name(conversation)}-spans.json"
    written = write_file(iter([to_utf8(json.dumps(made))]), name, "application/json")
    return _audited(written, conversation, by)


def _audited(written: ExportFile, conversation: Conversation, by: Member) -> ExportFile:
    """The file, once the audit trail says who takes it away.

    It is written before: on SQLite the transaction of the entry holds every other writer up.
    """
    try:
        with transaction.atomic():
            audit.record("traces.exported", conversation, by=by, project_id=conversation.project_id)
    except BaseException:
        written.file.close()
        raise
    return written


def _pieces(conversation: Conversation, described: Mapping[str, Any]) -> Iterator[str]:
    """Each call is on a line of its own, for tools that read lines."""
    first = _first_with_bodies(conversation)
    head = {"conversation": described, "trace": timeline.summary(conversation)}
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "calls": ['
    separator = "\n"
    if settings.TRACING:
        for traced, contents in store.read_all(conversation.pk):
            made = _object(traced, contents, with_bodies=traced.number >= first)
            yield separator + json.dumps(made, ensure_ascii=False)
            separator = ",\n"
    yield "\n]}\n"


def _first_with_bodies(conversation: Conversation) -> int:
    """The number of the oldest call whose bodies still fit into the file."""
    rows = TracedCall.objects.filter(trace=conversation.pk).order_by("-number")
    first, left = 0, MAX_BODIES_BYTES
    for first, size in rows.values_list("number", "request_bytes").iterator():
        left -= size
        # guard: exported-bodies-have-a-limit
        if left < 0:
            return first + 1
    return first


def _object(traced: TracedCall, contents: Contents, *, with_bodies: bool = True) -> dict[str, Any]:
    facts = contents.facts
    exchanges = []
    for exchange, body in zip(facts["exchanges"], contents.bodies, strict=True):
        omitted = exchange["omitted_bytes"] + (0 if with_bodies else len(body))
        text = body.decode("utf-8", "backslashreplace") if with_bodies else ""
        exchanges.append({**exchange, "body": text, "omitted_bytes": omitted})
    return {
        "call_id": traced.call_id.hex,
        "turn": traced.turn,
        "attempt": traced.attempt,
        "purpose": traced.purpose,
        "model": traced.model,
        "outcome": traced.outcome,
        **timeline.trace_facts(traced),
        **facts,
        "exchanges": exchanges,
    }
