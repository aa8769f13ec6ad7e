"""What the API's description says beside what a view declares: headers, errors, their codes."""

from collections.abc import Iterator
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

from paca.common.errors import PacaError

KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="The same key with the same request, within a day, is carried out once.",
)
IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="The updated_at of what you have loaded; 412 if it has changed meanwhile.",
)
ERROR = {
    "type": "object",
    "description": "What every refusal looks like.",
    "properties": {
        "code": {"type": "string", "description": "Stable; for programs."},
        "detail": {"type": "string", "description": "One sentence, for people."},
        "fields": {
            "type": "object",
            "description": "What is wrong with which field of the request.",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
        "request_id": {"type": "string", "description": "Finds the request in the log."},
    },
    "required": ["code", "detail", "request_id"],
}
INTRODUCTION = """People and agents of a project, and their conversations.

Sign in with `Authorization: Bearer paca_...` (`python manage.py create_token USER`) or with the
session cookie and its CSRF token. Lists come as `{results, next, previous}`; follow `next`. What
belongs to a project you are not in is answered as what does not exist: 404.

| Code | Status | Meaning |
|---|---|---|
"""
# Of errors that the framework raises; the others say it themselves.
FRAMEWORK = {
    "authentication_failed": (401, "The token is wrong, revoked or expired."),
    "csrf_failed": (403, "A change by session cookie needs the CSRF token of the page."),
    "internal_error": (500, "Something broke on the server."),
    "malformed": (400, "The body is no JSON."),
    "method_not_allowed": (405, "This address does not know this method."),
    "not_acceptable": (406, "Answers are JSON."),
    "not_authenticated": (401, "Sign in first."),
    "throttled": (429, "Too many requests; `Retry-After` says when to come back."),
    "unsupported_media_type": (415, "Bodies are JSON."),
}
RUNS = ("paca.engine", "paca.sandbox")


class Described(AutoSchema):
    """Adds the headers that a method honours."""

    def get_override_parameters(self) -> list[Any]:
        found = list(super().get_override_parameters())
        handler = getattr(self.view, self.method.lower(), None)
        if getattr(handler, "idempotent", False):
            found.append(KEY)
        if self.method == "PATCH":
            found.append(IF_MATCH)
        return found


def with_errors(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Say of every operation what its refusals look like, and list their codes at the top."""
    result["components"]["schemas"]["Error"] = ERROR
    reference = {"schema": {"$ref": "#/components/schemas/Error"}}
    refusal = {"description": "A refusal.", "content": {"application/json": reference}}
    for methods in result["paths"].values():
        for operation in methods.values():
            operation["responses"]["default"] = refusal
    rows = (f"| `{code}` | {status} | {text} |" for code, (status, text) in sorted(codes().items()))
    result["info"]["description"] = INTRODUCTION + "\n".join(rows)
    return result


def codes() -> dict[str, tuple[int, str]]:
    """Every code that the API answers, with its status and meaning."""
    ours = {kind.code: (int(kind.status), _meaning(kind)) for kind in kinds()}
    return {**FRAMEWORK, **ours}


def kinds() -> Iterator[type[PacaError]]:
    """The errors of Paca's own that the API answers."""
    waiting: list[type[PacaError]] = [PacaError]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            # What goes wrong in a run is told by events, not by the API.
            if "code" in vars(kind) and not kind.__module__.startswith(RUNS):
                yield kind


def _meaning(kind: type[PacaError]) -> str:
    return (kind.__doc__ or "").strip().partition("\n")[0]
