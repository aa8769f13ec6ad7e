"""The paths of the scripted model server, each with its dialect: providers, and clouds with paths of their own."""

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from tests.support import anthropic_dialect, bedrock_dialect, cohere_dialect, openai_dialect


def _variant(dialect: Any, **changes: Any) -> Any:
    """A dialect with some functions replaced."""
    return SimpleNamespace(**{**vars(dialect), **changes})


def _watsonx_problems(body: dict[str, Any]) -> Iterator[str]:
    yield from openai_dialect.problems({**body, "stream": True})
    if body.keys() & {"model", "stream", "stream_options", "tool_choice"}:
        yield "a field that watsonx does not know"
    if not body.get("model_id") or not (body.get("project_id") or body.get("space_id")):
        yield "model_id and either project_id or space_id must be given"


def _vertex_claude_problems(body: dict[str, Any]) -> Iterator[str]:
    yield from anthropic_dialect.problems({**body, "model": "claude-test"})
    if "model" in body or body.get("anthropic_version") != "vertex-2023-10-16":
        yield "anthropic_version must be given, and model must not"


def _no_foreign_thinking(body: dict[str, Any]) -> str:
    return ""


_VERTEX = r"/v1/projects/[\w-]+/locations/[\w-]+"
ROUTES = (
    (re.escape(anthropic_dialect.PATH), anthropic_dialect),
    (re.escape("/anthropic" + anthropic_dialect.PATH), anthropic_dialect),
    (re.escape(openai_dialect.PATH), openai_dialect),
    (re.escape(cohere_dialect.PATH), cohere_dialect),
    (r"/model/[\w.:%-]+/converse-stream", bedrock_dialect),
    (r"/openai/deployments/[\w.-]+/chat/completions", openai_dialect),
    (r"/openai/v1/chat/completions", openai_dialect),
    (r"/models/chat/completions", openai_dialect),
    (r"/ml/v1/text/chat_stream", _variant(openai_dialect, problems=_watsonx_problems)),
    (f"{_VERTEX}/endpoints/openapi/chat/completions", openai_dialect),
    (
        f"{_VERTEX}/publishers/anthropic/models/[\\w.@-]+:streamRawPredict",
        _variant(anthropic_dialect, problems=_vertex_claude_problems, foreign_thinking=_no_foreign_thinking),
    ),
)  # fmt: skip


def dialect_of(path: str) -> Any:
    """The dialect that is spoken at this path; None if nothing is served there."""
    found = path.partition("?")[0]
    return next((dialect for route, dialect in ROUTES if re.fullmatch(route, found)), None)
