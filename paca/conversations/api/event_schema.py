"""The address of the JSON Schema of events. It shows no data, so it needs no sign-in."""

import json
from functools import cache

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from paca.conversations import event_schema


@cache
def schema_as_json() -> bytes:
    """The schema as JSON text, as in ``docs/events.schema.json``."""
    return (json.dumps(event_schema.document(), indent=1) + "\n").encode()


@require_GET
def schema(request: HttpRequest) -> HttpResponse:
    """The JSON Schema of events, and of entries of the Redis streams."""
    return HttpResponse(schema_as_json(), content_type="application/schema+json")
