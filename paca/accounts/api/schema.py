"""Adds headers and error responses to the OpenAPI schema that the views declare."""

from collections.abc import Iterator
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework.serializers import Serializer

from paca.common.api.serializers import InputSerializer
from paca.common.errors import PacaError

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="A request that is repeated with the same key within a day is carried out once.",
)
IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="The `updated_at` of the object as you loaded it; 412 if it has changed since.",
)
ERROR = {
    "type": "object",
    "description": "Every error response has this form.",
    "properties": {
        "code": {"type": "string", "description": "Stable, for programs."},
        "detail": {"type": "string", "description": "One sentence, for people."},
        "fields": {
            "type": "object",
            "description": "The errors of each field of the request.",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
        "request_id": {
            "type": "string",
            "description": "Identifies the request in the server's log.",
        },
        "present": {
            "type": "object",
            "description": "With `changed_meanwhile`: the object as it is now, where the address says so.",
            "additionalProperties": True,
        },
    },
    "required": ["code", "detail", "request_id"],
}
INTRODUCTION = """People and agents of a project, and their conversations.

Sign in with `Authorization: Bearer paca_...` (`python manage.py create_token USER`) or with the
session cookie and its CSRF token. Lists are `{results, next, previous}`; `next` is the address of
the next page. Objects of projects that you are no member of answer 404, as if they did not exist.

| Code | Status | Meaning |
|---|---|---|
"""
# Errors that Django REST framework raises. Paca's own errors carry their status and meaning.
FRAMEWORK_ERRORS = {
    "authentication_failed": (401, "The token is wrong, revoked or expired."),
    "csrf_failed": (403, "A change by session cookie needs the CSRF token of the page."),
    "internal_error": (500, "Something broke on the server."),
    "malformed": (400, "The body is not valid JSON, or not a valid form with a file."),
    "method_not_allowed": (405, "This address does not accept this method."),
    "not_acceptable": (406, "Answers are JSON."),
    "not_authenticated": (401, "Sign in first."),
    "throttled": (429, "Too many requests; `Retry-After` says when to try again."),
    "unsupported_media_type": (415, "Bodies are JSON; a file comes as multipart/form-data."),
}
# Errors of these packages end a turn. Events report them, not the API.
RUN_PACKAGES = ("paca.engine", "paca.sandbox")


class ApiAutoSchema(AutoSchema):
    """Declares the request headers that a method reads, and names the components."""

    def get_override_parameters(self) -> list[Any]:
        found = list(super().get_override_parameters())
        handler = getattr(self.view, self.method.lower(), None)
        if getattr(handler, "idempotent", False):
            found.append(IDEMPOTENCY_KEY)
        if self.method == "PATCH" and getattr(self.view, "takes_if_match", True):
            found.append(IF_MATCH)
        return found

    def get_serializer_name(self, serializer: Serializer[Any], direction: Any) -> str:
        """``ProjectSerializer`` is the component ``Project``, ``ProjectInput`` ``ProjectRequest``."""
        name: str = super().get_serializer_name(serializer, direction)
        return name.removesuffix("Input")

    def _map_basic_serializer(self, serializer: Serializer[Any], direction: Any) -> dict[str, Any]:
        """The schema of an object; that of a request says that unknown fields are refused."""
        schema: dict[str, Any] = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        is_input = isinstance(serializer, InputSerializer) and direction == "request"
        if is_input and schema.get("properties"):  # an empty schema means no body
            schema["additionalProperties"] = False
        return schema


def add_error_responses(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the error response to every operation, and the table of error codes to the introduction."""
    result["components"]["schemas"]["Error"] = ERROR
    reference = {"schema": {"$ref": "#/components/schemas/Error"}}
    response = {"description": "An error.", "content": {"application/json": reference}}
    for methods in result["paths"].values():
        for operation in methods.values():
            operation["responses"]["default"] = response
    rows = (
        f"| `{code}` | {status} | {text} |"
        for code, (status, text) in sorted(error_codes().items())
    )
    result["info"]["description"] = INTRODUCTION + "\n".join(rows)
    return result


def error_codes() -> dict[str, tuple[int, str]]:
    """Every error code of the API with its status and its meaning."""
    ours = {error.code: (int(error.status), _meaning(error)) for error in error_classes()}
    return {**FRAMEWORK_ERRORS, **ours}


def run_errors() -> dict[str, str]:
    """The code and the meaning of each error that a turn can have and the API does not answer with."""
    return {
        error.code: _meaning(error)
        for error in _coded_classes()
        if error.__module__.startswith(RUN_PACKAGES)
    }


def error_classes() -> Iterator[type[PacaError]]:
    """Paca's own errors that the API can answer with."""
    return (error for error in _coded_classes() if not error.__module__.startswith(RUN_PACKAGES))


def _coded_classes() -> Iterator[type[PacaError]]:
    unvisited: list[type[PacaError]] = [PacaError]
    while unvisited:
        for error in unvisited.pop().__subclasses__():
            unvisited.append(error)
            if "code" in vars(error) and error.__module__.startswith("paca."):
                yield error


def _meaning(error: type[PacaError]) -> str:
    return (error.__doc__ or "").strip().partition("\n")[0]
