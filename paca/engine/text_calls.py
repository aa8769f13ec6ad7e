"""Recognises a tool call that a model wrote into its answer instead of making it.

Small models do this. Only what ends the answer counts: in an explanation or a quotation, text goes on.
"""

import json
import re
from collections.abc import Collection

FENCED = re.compile(r"(?:^|\n)```(?:json|tool_call|tool)?[ \t]*\n(?P<body>.*?)\n```[ \t]*\Z", re.S)
TAGGED = re.compile(r"<tool_call>\s*(?P<body>\{.*?\})\s*</tool_call>\s*\Z", re.S)
NAMES = ("name", "tool", "tool_name", "function")
ARGUMENTS = ("arguments", "parameters", "input", "args")


def written_call(text: str, tools: Collection[str]) -> str | None:
    """The tool whose call ends this text, or None. ``tools`` are the names there are."""
    end = text.rstrip()
    found = TAGGED.search(end) or FENCED.search(end)
    if found is None or _is_quoted(end[: found.start()]):
        return None
    try:
        call = json.loads(found["body"])
    except ValueError:
        return None
    if not isinstance(call, dict):
        return None
    name = next((call[key] for key in NAMES if isinstance(call.get(key), str)), None)
    has_arguments = any(isinstance(call.get(key), dict) for key in ARGUMENTS)
    return name if name in tools and has_arguments else None


def _is_quoted(before: str) -> bool:
    """Whether the text before has opened a code block that is still open."""
    return len(re.findall(r"^```", before, re.M)) % 2 == 1
