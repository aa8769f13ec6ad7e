"""Checks what an MCP server says of its tools, and makes descriptions of it that every model provider takes.

A server is not trusted: its texts may be huge, deep, hidden, or meant to mislead the model.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from paca.common.text import to_storable
from paca.common.visible_text import has_no_look
from paca.engine.mcp.settings import OfferedTool

MAX_TOOLS = 100
MAX_DESCRIBED = 2 * MAX_TOOLS  # are looked at; a bad one costs as much as a good one
MAX_NAME_CHARACTERS = 128
MAX_DESCRIPTION_CHARACTERS = 4_000
MAX_FIELD_TEXT_CHARACTERS = 1_000
MAX_SCHEMA_CHARACTERS = 16_000
MAX_DEPTH = 12
MAX_NODES = 2_000
MAX_LISTED = 200  # entries of an enum and the like
MAX_NUMBER = 2**64
MAX_REFERENCE_CHARACTERS = 500
MAX_NAMED = 5  # tools in the sentence about those left out
FIELD_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# Keywords with a plain value. All others are left out: a model does not need them, and some providers refuse them.
PLAIN = (
    *("type", "const", "default", "format", "minimum", "maximum", "minLength", "maxLength"),
    *("exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems"),
)
CHOICES = ("anyOf", "oneOf", "allOf")
READ = (
    *PLAIN,
    *CHOICES,
    "$ref",
    "description",
    "enum",
    "properties",
    "required",
    "items",
    "additionalProperties",
)


class BadOffer(ValueError):
    """The description of the tool cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class CheckedTools:
    """The tools that can be used, and a sentence about the others, empty if there are none."""

    tools: tuple[OfferedTool, ...]
    left_out: str = ""


def check_tools(described: Iterable[Mapping[str, Any]]) -> CheckedTools:
    """Check the tools as the protocol describes them (``name``, ``description``, ``inputSchema``, ``annotations``)."""
    tools: dict[str, OfferedTool] = {}
    problems: list[str] = []
    for number, each in enumerate(described):
        # guard: mcp-long-lists-are-cut
        if number >= MAX_DESCRIBED:
            problems.append(f"the server describes more than {MAX_DESCRIBED}")
            break
        name = each.get("name")
        shown = _text(name if isinstance(name, str) else "?", 60)
        try:
            tool = _tool(each)
            if tool.name in tools:
                raise BadOffer("its name occurs twice")
            if len(tools) >= MAX_TOOLS:
                raise BadOffer(f"the server has more than {MAX_TOOLS}")
            tools[tool.name] = tool
        except BadOffer as problem:
            problems.append(f"{shown}: {problem}")
    ordered = tuple(sorted(tools.values(), key=lambda tool: tool.name))
    return CheckedTools(ordered, _sentence(problems))


def _sentence(problems: list[str]) -> str:
    if not problems:
        return ""
    more = f" and {len(problems) - MAX_NAMED} more" if len(problems) > MAX_NAMED else ""
    return f"Tools left out: {'; '.join(problems[:MAX_NAMED])}{more}."


def _tool(described: Mapping[str, Any]) -> OfferedTool:
    name = described.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARACTERS:
        raise BadOffer(f"its name is not 1 to {MAX_NAME_CHARACTERS} characters long")
    if name != clean(name) or not name.strip():
        raise BadOffer("its name has signs that cannot be seen")
    description = described.get("description") or ""
    if not isinstance(description, str):
        raise BadOffer("its description is no text")
    if len(description) > MAX_DESCRIPTION_CHARACTERS:
        raise BadOffer(f"its description is longer than {MAX_DESCRIPTION_CHARACTERS:,} characters")
    hints = described.get("annotations")
    hints = hints if isinstance(hints, Mapping) else {}
    return OfferedTool(
        name,
        clean(description),
        check_schema(described.get("inputSchema")),
        says_read_only=hints.get("readOnlyHint") is True,
        says_destructive=hints.get("destructiveHint") is True,
    )


def clean(text: str) -> str:
    """The text without characters that people cannot see and a model reads: what is accepted is what is shown."""
    # guard: mcp-descriptions-hide-nothing
    return "".join(
        char
        for char in to_storable(text)
        if char in "\n\t"
        or not (has_no_look(char) or unicodedata.category(char) in ("Cc", "Co", "Cn"))
    )


def _text(text: str, limit: int) -> str:
    return clean(text[: 2 * limit])[:limit]


# --- schemas ----------------------------------------------------------------------------------------


def check_schema(schema: Any) -> dict[str, Any]:
    """A plain JSON schema of an object, without references. Raises ``BadOffer`` if it is too large or no schema."""
    if schema is None:
        schema = {}
    if not isinstance(schema, Mapping):
        raise BadOffer("its schema is no object")
    checked = _SchemaReader(schema).node(schema, MAX_DEPTH)
    fields = checked.get("properties", {})
    for name in fields:
        if not FIELD_NAME.fullmatch(name):
            raise BadOffer(f"the argument {_text(name, 40)!r} has no plain name")
    # A choice between whole objects is refused by providers; the server checks it.
    top: dict[str, Any] = {"type": "object", "properties": fields}
    required = [name for name in checked.get("required", ()) if name in fields]
    if required:
        top["required"] = required
    if len(json.dumps(top)) > MAX_SCHEMA_CHARACTERS:
        raise BadOffer(f"its schema is longer than {MAX_SCHEMA_CHARACTERS:,} characters")
    return top


class _SchemaReader:
    """Reads one schema of a server, within its limits."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def node(self, node: Any, depth: int) -> dict[str, Any]:
        """The node with the keywords that are kept. Too deep ones take any value."""
        self._nodes += 1
        # guard: mcp-schemas-are-bounded
        if self._nodes > MAX_NODES:
            raise BadOffer(f"its schema has more than {MAX_NODES:,} parts")
        if not isinstance(node, Mapping) or depth <= 0:
            return {}
        # Only these, or a part with many others would be copied as often as it is referred to.
        node = {key: node[key] for key in READ if key in node}
        if "$ref" in node:
            node = {**self._target(node["$ref"]), **node}
            depth -= 1
        kept = {key: node[key] for key in PLAIN if key in node and _is_plain(node[key])}
        if isinstance(node.get("description"), str):
            kept["description"] = _text(node["description"], MAX_FIELD_TEXT_CHARACTERS)
        if isinstance(node.get("enum"), list):
            kept["enum"] = [value for value in node["enum"][:MAX_LISTED] if _is_plain(value)]
        return kept | self._children(node, depth - 1)

    def _children(self, node: Mapping[str, Any], depth: int) -> dict[str, Any]:
        kept = self._fields(node, depth)
        if isinstance(items := node.get("items"), Mapping):
            kept["items"] = self.node(items, depth)
        extra = node.get("additionalProperties")
        if isinstance(extra, bool):
            kept["additionalProperties"] = extra
        elif isinstance(extra, Mapping):
            kept["additionalProperties"] = self.node(extra, depth)
        for key in CHOICES:
            if isinstance(choices := node.get(key), list) and choices:
                kept[key] = [self.node(choice, depth) for choice in choices[:MAX_LISTED]]
        return kept

    def _fields(self, node: Mapping[str, Any], depth: int) -> dict[str, Any]:
        fields, required = node.get("properties"), node.get("required")
        if not isinstance(fields, Mapping):
            return {}
        for name in map(str, fields):
            # guard: mcp-arguments-hide-nothing
            if name != clean(name):
                raise BadOffer(f"the argument {_text(name, 40)!r} has signs that cannot be seen")
        kept: dict[str, Any] = {
            "properties": {str(name): self.node(child, depth) for name, child in fields.items()}
        }
        asked = required[:MAX_NODES] if isinstance(required, list) else []
        if names := [name for name in asked if isinstance(name, str) and name in fields]:
            kept["required"] = list(dict.fromkeys(names))
        return kept

    def _target(self, reference: Any) -> Mapping[str, Any]:
        """The part of the same schema that a reference names; empty if there is none."""
        found: Any = self._root
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return {}
        if len(reference) > MAX_REFERENCE_CHARACTERS:
            return {}
        for part in reference[2:].split("/")[:MAX_DEPTH]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            return {}
        return {key: found[key] for key in READ if key in found and key != "$ref"}


def _is_plain(value: Any) -> bool:
    """A short value without depth, or a list of such; no text with hidden signs, and no number that JSON has not."""
    if isinstance(value, list):
        return len(value) <= MAX_LISTED and all(
            _is_plain(each) and not isinstance(each, list) for each in value
        )
    if isinstance(value, str):
        # guard: mcp-schemas-hide-nothing
        return len(value) <= MAX_FIELD_TEXT_CHARACTERS and value == clean(value)
    if isinstance(value, int | float):
        return abs(value) <= MAX_NUMBER  # neither infinity nor what is no number
    return value is None
