"""Gives each request an id, answers it in ``X-Request-ID`` and keeps it for errors, logs and audit."""

import logging
import re
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

# An id from outside goes into logs and headers, so it may hold nothing that means something there.
WELL_FORMED = re.compile(r"[A-Za-z0-9_.-]{8,64}\Z")
_OF_REQUEST = "_paca_request_id"


@dataclass(slots=True)
class RequestContext:
    """What is known about the request at hand, wherever the code is."""

    request_id: str = ""
    ip: str | None = None
    token_id: uuid.UUID | None = None
    token_name: str = ""


_context: ContextVar[RequestContext | None] = ContextVar("paca_request", default=None)


def current() -> RequestContext:
    """The request at hand; outside of one, an empty context."""
    return _context.get() or RequestContext()


@contextmanager
def _about(request: HttpRequest) -> Iterator[RequestContext]:
    """The context while a request is answered. What runs afterwards in the same thread or task is
    another's, and may not be put down to this request's token."""
    given = request.headers.get("X-Request-ID", "")
    request_id = given if WELL_FORMED.match(given) else uuid.uuid4().hex
    context = RequestContext(request_id=request_id, ip=request.META.get("REMOTE_ADDR") or None)
    setattr(request, _OF_REQUEST, request_id)
    before = _context.get()
    _context.set(context)
    try:
        yield context
    finally:
        _context.set(before)


@sync_and_async_middleware
def request_id_middleware(get_response: Callable[[HttpRequest], Any]) -> Callable[..., Any]:
    """Stands first, so that every answer carries the id, also one of another middleware."""
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            with _about(request) as context:
                waiting: Awaitable[HttpResponseBase] = get_response(request)
                response = await waiting
            response.headers["X-Request-ID"] = context.request_id
            return response

        return answer_async

    def answer(request: HttpRequest) -> HttpResponseBase:
        with _about(request) as context:
            response: HttpResponseBase = get_response(request)
        response.headers["X-Request-ID"] = context.request_id
        return response

    return answer


class RequestIdFilter(logging.Filter):
    """Adds ``request_id`` to each log record that does not bring its own."""

    def filter(self, record: logging.LogRecord) -> bool:
        if not hasattr(record, "request_id"):
            # Django tells of an answer when the request is over, and says of which.
            of_request = getattr(getattr(record, "request", None), _OF_REQUEST, "")
            record.request_id = of_request or current().request_id
        return True
