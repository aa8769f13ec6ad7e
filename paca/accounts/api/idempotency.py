"""``Idempotency-Key``: the same request sent twice is carried out once and answered alike."""

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

LASTS = timedelta(hours=24)
Handler = Callable[..., Response]


class KeyReused(Conflict):
    """This Idempotency-Key has been used for a different request."""

    code = "idempotency_key_reused"


def idempotent(handler: Handler) -> Handler:
    """Decorate a ``post``. The work and its stored answer commit together, or neither does.

    The key's row is inserted first, so a second request of the same key waits on the database for
    the first and then finds its answer. What fails is not stored: it did nothing and may be retried.
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
                _forget_old()
                row = IdempotentAnswer.objects.create(
                    user=view.person, key=key, fingerprint=fingerprint
                )
                response = handler(view, request, *args, **kwargs)
                row.status, row.body = response.status_code, _plain(response.data)
                row.save(update_fields=["status", "body", "updated_at"])
                return response
        except IntegrityError:
            stored = IdempotentAnswer.objects.filter(user=view.person, key=key).first()
            if stored is None:
                raise  # not the key: the work itself broke a law
            return _again(stored, fingerprint)

    answer.idempotent = True  # type: ignore[attr-defined] # for the test that walks all POSTs
    return answer


def _forget_old() -> None:
    """Remove answers older than a day."""
    IdempotentAnswer.objects.filter(created_at__lt=timezone.now() - LASTS).delete()


def _again(stored: IdempotentAnswer, fingerprint: str) -> Response:
    if stored.fingerprint != fingerprint:
        raise KeyReused
    return Response(stored.body, status=stored.status, headers={"Idempotent-Replay": "true"})


def _fingerprint(request: Request) -> str:
    body = json.dumps(request.data, sort_keys=True, cls=JSONEncoder)
    what = f"{request.method} {request.get_full_path()} {body}"
    return hashlib.sha256(what.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(data: Any) -> Any:
    """The answer as JSON would carry it."""
    return json.loads(json.dumps(data, cls=JSONEncoder))
