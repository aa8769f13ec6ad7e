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


@transaction.atomic
def to_json(conversation: Conversation, described: Mapping[str, Any], *, by: Member) -> ExportFile:
    """The whole trace as one JSON object. ``described`` is the conversation as the API shows it.

    Who took it away is written to the audit trail.
    """
    audit.record("traces.exported", conversation, by=by, project_id=conversation.project_id)
    pieces = _pieces(conversation, described)
    return write_file(
        map(to_utf8, pieces), f"{file_name(conversation)}-trace.json", "application/json"
    )


@transaction.atomic
def to_otlp(conversation: Conversation, *, by: Member) -> ExportFile:
    """The spans of all ended turns, as a request of OTLP in JSON, without contents. It is audited too."""
    audit.record("traces.exported", conversation, by=by, project_id=conversation.project_id)
    made = otlp.request([*spans.of_conversation(conversation)], service=settings.OTEL_SERVICE_NAME)
    name = f"{file_name(conversation)}-spans.json"
    return write_file(iter([to_utf8(json.dumps(made))]), name, "application/json")


def _pieces(conversation: Conversation, described: Mapping[str, Any]) -> Iterator[str]:
    """Each call is on a line of its own, for tools that read lines."""
    head = {"conversation": described, "trace": timeline.summary(conversation)}
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "calls": ['
    separator = "\n"
    if settings.TRACING:
        for traced, contents in store.read_all(conversation.pk):
            yield separator + json.dumps(_object(traced, contents), ensure_ascii=False)
            separator = ",\n"
    yield "\n]}\n"


def _object(traced: TracedCall, contents: Contents) -> dict[str, Any]:
    facts = contents.facts
    bodies = [body.decode("utf-8", "backslashreplace") for body in contents.bodies]
    exchanges = [
        {**exchange, "body": body}
        for exchange, body in zip(facts["exchanges"], bodies, strict=True)
    ]
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
