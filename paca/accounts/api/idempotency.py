"""The ``Idempotency-Key`` header: a repeated request does no work and gets the first answer."""

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, overload

from django.db import IntegrityError, transaction
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from paca.accounts.models import IdempotentAnswer, User
from paca.common.errors import Conflict, Invalid
from paca.common.text import to_utf8

KEEP_FOR = timedelta(hours=24)
Handler = Callable[..., Response]


class IdempotencyKeyReused(Conflict):
    """This Idempotency-Key has been used for a different request."""

    code = "idempotency_key_reused"


@overload
def idempotent(handler: Handler, /) -> Handler: ...
@overload
def idempotent(*, prepare: Callable[..., Any]) -> Callable[[Handler], Handler]: ...
def idempotent(
    handler: Handler | None = None, /, *, prepare: Callable[..., Any] | None = None
) -> Handler | Callable[[Handler], Handler]:
    """Decorator for ``post``. The work and its stored answer commit in one transaction.

    ``prepare`` does what takes long, before that transaction begins and unless the answer is stored already. It gets the
    arguments of the method, which gets its result as ``prepared``.

    The row of the key is inserted first. A second request with the same key therefore waits on the
    database for the first, and then finds its answer. A failed request stores nothing, so it can be
    retried.

    The decorated method raises ``Invalid`` if the key is malformed, and ``IdempotencyKeyReused`` if it
    came with a different request before.
    """
    if handler is None:
        return lambda method: _idempotent(method, prepare)
    return _idempotent(handler, prepare)


def _idempotent(handler: Handler, prepare: Callable[..., Any] | None) -> Handler:
    def prepared(view: Any, request: Request, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if prepare is None:
            return kwargs
        return {**kwargs, "prepared": prepare(view, request, *args, **kwargs)}

    @wraps(handler)
    def answer(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get("Idempotency-Key", "").strip()
        # guard: api-idempotency-key
        if not key:
            return handler(view, request, *args, **prepared(view, request, *args, **kwargs))
        if len(key) > 255 or not key.isprintable():
            raise Invalid("An Idempotency-Key has at most 255 printable characters.")
        fingerprint = _fingerprint(request)
        if prepare is not None and (stored := _stored_answer(view.person, key)):
            return _replay(stored, fingerprint)
        kwargs = prepared(view, request, *args, **kwargs)
        row = IdempotentAnswer(user=view.person, key=key, fingerprint=fingerprint)
        return _work_once(row, lambda: handler(view, request, *args, **kwargs))

    answer.idempotent = True  # type: ignore[attr-defined] # read by the OpenAPI schema and tests
    return answer


def _work_once(row: IdempotentAnswer, work: Callable[[], Response]) -> Response:
    try:
        with transaction.atomic():
            _delete_expired()
            row.save(force_insert=True)
            response = work()
            row.status, row.body = response.status_code, _to_json(response.data)
            row.save(update_fields=["status", "body", "updated_at"])
            return response
    except IntegrityError:
        stored = _stored_answer(row.user, row.key)
        if stored is None:
            raise  # another constraint than that of the key
        return _replay(stored, row.fingerprint)


def _stored_answer(person: User, key: str) -> IdempotentAnswer | None:
    kept = IdempotentAnswer.objects.filter(created_at__gte=timezone.now() - KEEP_FOR)
    return kept.filter(user=person, key=key).first()


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
