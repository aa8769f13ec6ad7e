"""Finds the errors that OpenAI-compatible servers report, in a response and in a stream."""

from collections.abc import Mapping
from typing import Any

from paca.engine.llm import provider_errors
from paca.engine.llm.model_errors import ModelError

NO_API = "There is no chat completions API at this base URL (HTTP 404). Most servers want /v1 at its end."


def from_status(status: int, body: object, headers: Mapping[str, str]) -> ModelError:
    """The error for a response with another status than 200."""
    return provider_errors.from_status(status, body, headers, no_service=NO_API)


def reports_error(event: dict[str, Any]) -> bool:
    """Whether an event, or a whole body, reports an error in one of the forms that servers use."""
    if event.get("error"):
        return True
    if event.get("choices"):
        return False
    refused = event.get("base_resp")
    if isinstance(refused, dict) and refused.get("status_code") not in (None, 0):
        return True
    if event.get("object") == "error" or event.get("type") == "error" or event.get("errors"):
        return True
    return bool(event.get("detail")) or ("message" in event and "code" in event)
