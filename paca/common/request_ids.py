"""Gives each request an id: in the header ``X-Request-ID``, in errors, in logs and in the audit trail."""

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

# An id from outside goes into logs and headers, so characters with a meaning there are not allowed.
WELL_FORMED = re.compile(r"[A-Za-z0-9_.-]{8,64}\Z")
_REQUEST_ATTRIBUTE = "_paca_request_id"


@dataclass(slots=True)
class RequestContext:
    """Facts about the request that this thread or task handles."""

    request_id: str = ""
    ip: str | None = None
    token_id: uuid.UUID | None = None
    token_name: str = ""


_context: ContextVar[RequestContext | None] = ContextVar("paca_request", default=None)


def current() -> RequestContext:
    """The context of the current request; an empty one outside of requests."""
    return _context.get() or RequestContext()


@contextmanager
def _request_context(request: HttpRequest) -> Iterator[RequestContext]:
    """Set the context while a request is handled, and restore the one before it afterwards: later work
    in the same thread or task must not be recorded under this request's token.
    """
    sent = request.headers.get("X-Request-ID", "")
    request_id = sent if WELL_FORMED.match(sent) else uuid.uuid4().hex
    context = RequestContext(request_id=request_id, ip=request.META.get("REMOTE_ADDR") or None)
    setattr(request, _REQUEST_ATTRIBUTE, request_id)
    before = _context.get()
    _context.set(context)
    try:
        yield context
    finally:
        _context.set(before)


@sync_and_async_middleware
def request_id_middleware(get_response: Callable[[HttpRequest], Any]) -> Callable[..., Any]:
    """The first middleware, so that every response has the id, also one of another middleware."""
    if iscoroutinefunction(get_response):

        async def async_middleware(request: HttpRequest) -> HttpResponseBase:
            with _request_context(request) as context:
                pending: Awaitable[HttpResponseBase] = get_response(request)
                response = await pending
            response.headers["X-Request-ID"] = context.request_id
            return response

        return async_middleware

    def middleware(request: HttpRequest) -> HttpResponseBase:
        with _request_context(request) as context:
            response: HttpResponseBase = get_response(request)
        response.headers["X-Request-ID"] = context.request_id
        return response

    return middleware


class RequestIdFilter(logging.Filter):
    """Adds ``request_id`` to each log record that does not have one."""

    def filter(self, record: logging.LogRecord) -> bool:
        if not hasattr(record, "request_id"):
            # Django logs a response when the request is over, and passes the request in the record.
            recorded_id = getattr(getattr(record, "request", None), _REQUEST_ATTRIBUTE, "")
            record.request_id = recorded_id or current().request_id
        return True
