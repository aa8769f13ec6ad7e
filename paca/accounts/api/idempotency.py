"""The ``Idempotency-Key`` header: a repeated request does no work and gets the first answer."""

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from paca.accounts.models import IdempotentAnswer
from paca.common.errors import Conflict, Invalid
from paca.common.text import to_utf8

KEEP_FOR = timedelta(hours=24)
Handler = Callable[..., Response]


class IdempotencyKeyReused(Conflict):
    """This Idempotency-Key has been used for a different request."""

    code = "idempotency_key_reused"


def idempotent(handler: Handler) -> Handler:
    """Decorator for ``post``. The work and its stored answer commit in one transaction.

    The row of the key is inserted first. A second request with the same key therefore waits on the
    database for the first, and then finds its answer. A failed request stores nothing, so it can be
    retried.

    The decorated method raises ``Invalid`` if the key is malformed, and ``IdempotencyKeyReused`` if it
    came with a different request before.
    """

    @wraps(handler)
    def answer(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get("Idempotency-Key", "").strip()
        # guard: api-idempotency-key
        if not key:
            return handler(view, request, *args, **kwargs)
        if len(key) > 255 or not key.isprintable():
            raise Invalid("An Idempotency-Key has at most 255 printable characters.")
        fingerprint = _fingerprint(request)
        try:
            with transaction.atomic():
                _delete_expired()
                row = IdempotentAnswer.objects.create(
                    user=view.person, key=key, fingerprint=fingerprint
                )
                response = handler(view, request, *args, **kwargs)
                row.status, row.body = response.status_code, _to_json(response.data)
                row.save(update_fields=["status", "body", "updated_at"])
                return response
        except IntegrityError:
            stored = IdempotentAnswer.objects.filter(user=view.person, key=key).first()
            if stored is None:
                raise  # another constraint than that of the key
            return _replay(stored, fingerprint)

    answer.idempotent = True  # type: ignore[attr-defined] # read by the OpenAPI schema and tests
    return answer


def _delete_expired() -> None:
    """Delete the answers that are older than a day."""
    IdempotentAnswer.objects.filter(created_at__lt=timezone.now() - KEEP_FOR).delete()


def _replay(stored: IdempotentAnswer, fingerprint: str) -> Response:
    if stored.fingerprint != fingerprint:
        raise IdempotencyKeyReused
    return Response(stored.body, status=stored.status, headers={"Idempotent-Replay": "true"})


def _fingerprint(request: Request) -> str:
    body = json.dumps(request.data, sort_keys=True, cls=JSONEncoder)
    text = f"{request.method} {request.get_full_path()} {body}"
    return hashlib.sha256(to_utf8(text)).hexdigest()


def _to_json(data: Any) -> Any:
    """The data after a round trip through JSON, as a client receives it."""
    return json.loads(json.dumps(data, cls=JSONEncoder))
