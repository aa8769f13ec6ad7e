"""Renders every error of the API as ``{code, detail, fields?, request_id}`` with a stable code."""

import logging
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.core.signals import got_request_exception
from django.db import IntegrityError
from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.response import Response

from paca.common import database_errors, request_ids, text
from paca.common.api.preconditions import ChangedMeanwhile
from paca.common.errors import Conflict, Invalid, PacaError
from paca.common.request_body import BodyTooLarge

logger = logging.getLogger(__name__)

# The codes of REST framework's errors. Each PacaError has its own code.
CODES: dict[type[exceptions.APIException], str] = {
    exceptions.ParseError: "malformed",
    exceptions.ValidationError: "invalid",
    exceptions.NotAuthenticated: "not_authenticated",
    exceptions.AuthenticationFailed: "authentication_failed",
    exceptions.PermissionDenied: "permission_denied",
    exceptions.NotFound: "not_found",
    exceptions.MethodNotAllowed: "method_not_allowed",
    exceptions.NotAcceptable: "not_acceptable",
    exceptions.UnsupportedMediaType: "unsupported_media_type",
    exceptions.Throttled: "throttled",
}
INTERNAL_ERROR = "Something broke on the server. The request id finds it in the log."


class CsrfFailed(exceptions.PermissionDenied):
    """A request with a session cookie that changes something needs the CSRF token of the page."""

    default_code = "csrf_failed"


def exception_handler(error: Exception, context: Mapping[str, Any]) -> Response:
    """Answer every error as ``{code, detail, fields?, request_id}``. REST framework calls it."""
    if isinstance(error, RequestDataTooBig):
        error = BodyTooLarge()
    if isinstance(error, PacaError):
        return _answer_paca_error(error)
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    if isinstance(error, TooManyFieldsSent | TooManyFilesSent):
        error = exceptions.ParseError("The form has too many fields or files.")
    if isinstance(error, exceptions.APIException):
        return _answer_framework_error(error)
    if isinstance(error, IntegrityError):
        # A concurrent change violated a constraint after the checks, which give better messages.
        return _answer(409, "conflict", "This clashes with what is already there.")
    if isinstance(error, database_errors.UNAVAILABLE_ERRORS):
        logger.error("the database failed a request", exc_info=error)
        failure = database_errors.to_paca_error(error)
        return _answer(failure.status, failure.code, failure.detail, headers={"Retry-After": "5"})
    return _internal_error(error, context)


def _answer_paca_error(error: PacaError) -> Response:
    fields = error.fields if isinstance(error, Invalid) else {}
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.error("the API answered an error", exc_info=error, extra=dict(error.facts))
    answer = _answer(error.status, error.code, error.detail, fields)
    if isinstance(error, ChangedMeanwhile | Conflict) and error.present is not None:
        answer.data["present"] = error.present
    return answer


def _answer_framework_error(error: exceptions.APIException) -> Response:
    headers = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(max(1, math.ceil(wait)))
    if isinstance(error, exceptions.ValidationError):
        return _answer(400, "invalid", Invalid().detail, flatten_errors(error.detail), headers)
    code = next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), "error")
    if isinstance(error, CsrfFailed):
        code = error.default_code
    return _answer(error.status_code, code, str(error.detail), {}, headers)


def _internal_error(error: Exception, context: Mapping[str, Any]) -> Response:
    logger.error("the API broke", exc_info=error)
    # For error reporters, and for Django's test client, which raises the error again.
    got_request_exception.send(sender=None, request=context.get("request"))
    return _answer(500, "internal_error", INTERNAL_ERROR)


def _answer(
    status: int,
    code: str,
    detail: str,
    fields: Mapping[str, list[str]] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    return Response(error_body(code, detail, fields), status=status, headers=headers)


def error_body(
    code: str, detail: str, fields: Mapping[str, list[str]] | None = None
) -> dict[str, Any]:
    """The JSON object of an error. Its texts may quote what was sent, with characters that JSON cannot send."""
    body: dict[str, Any] = {"code": code, "detail": text.to_encodable(detail)}
    if fields:
        body["fields"] = {
            text.to_encodable(name): [text.to_encodable(each) for each in errors]
            for name, errors in fields.items()
        }
    return {**body, "request_id": request_ids.current().request_id}


def flatten_errors(detail: Any, path: str = "") -> dict[str, list[str]]:
    """Nested errors as one level with dotted names: ``{"limits.steps": ["Must be ..."]}``."""
    if isinstance(detail, Mapping):
        items = [(str(name), value) for name, value in detail.items()]
    elif isinstance(detail, list) and any(isinstance(item, Mapping | list) for item in detail):
        items = [(str(index), value) for index, value in enumerate(detail)]
    else:
        texts = detail if isinstance(detail, list) else [detail]
        return {path or "body": [str(each) for each in texts]}
    flattened: dict[str, list[str]] = {}
    for name, value in items:
        # An error of a whole object gets the name of the object.
        suffix = "" if name == "non_field_errors" else f".{name}" if path else name
        flattened.update(flatten_errors(value, path + suffix))
    return flattened


@csrf_exempt
def unknown_address(request: HttpRequest, rest: str = "") -> JsonResponse:
    """The answer for every unknown URL of the API. It is the last URL pattern."""
    detail = "There is nothing at this address. Addresses of the API end with a slash."
    return JsonResponse(error_body("not_found", detail), status=404)
