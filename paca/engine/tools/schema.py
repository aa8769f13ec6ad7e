"""JSON schemas of tool arguments for the model, and error texts for arguments that do not fit."""

import difflib
import json
from typing import Any

from pydantic import BaseModel, ValidationError

MAX_VALUE_CHARACTERS = 80
_TYPE_NAMES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def argument_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of the arguments, without titles, references and null for optional fields.

    Required fields come first.
    """
    raw = model.model_json_schema()
    schema = _resolved(raw, raw.get("$defs", {}))
    schema.pop("description", None)  # it is the docstring of the class, which is not for the model
    fields = schema.setdefault("properties", {})
    # A model fills fields in their order: those that say what the call is about come first.
    required = schema.get("required", [])
    optional = [name for name in fields if name not in required]
    schema["properties"] = {name: fields[name] for name in [*required, *optional]}
    return schema


def _resolved(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        target = definitions[node["$ref"].rpartition("/")[2]]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    choices = [choice for choice in node.get("anyOf", ()) if choice.get("type") != "null"]
    if len(choices) == 1:
        node = {**choices[0], **{key: value for key, value in node.items() if key != "anyOf"}}
        if "$ref" in node:
            return _resolved(node, definitions)
    out: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties":
            out[key] = {name: _resolved(child, definitions) for name, child in value.items()}
        elif key == "items":
            out[key] = _resolved(value, definitions)
        elif key not in ("title", "$defs") and not (key == "default" and value is None):
            out[key] = value
    return out


def describe_errors(
    error: ValidationError, schema: dict[str, Any], given: dict[str, Any]
) -> list[str]:
    """One sentence for each wrong field: its name, the expected value and the given one."""
    seen: dict[str, str] = {}
    for entry in error.errors(include_url=False, include_context=False):
        name = str(entry["loc"][0]) if entry["loc"] else ""
        seen.setdefault(name, _describe_error(name, entry["type"], entry["msg"], schema, given))
    return list(seen.values())


def _describe_error(
    name: str, kind: str, message: str, schema: dict[str, Any], given: dict[str, Any]
) -> str:
    fields = schema["properties"]
    if kind == "extra_forbidden":
        alike = difflib.get_close_matches(name, fields, n=1)
        hint = f" Did you mean {alike[0]}?" if alike else ""
        return f"{short_json(name)}: there is no such field.{hint}"
    if name not in fields:
        return f"{name or 'the arguments'}: {message}."
    expected = describe_expected(fields[name])
    if kind == "string_unicode":
        expected = "text without lone surrogates"
    if kind == "value_error":
        expected = message.removeprefix("Value error, ")
    if kind == "missing":
        return f"{name}: is missing; expected {expected}."
    return f"{name}: expected {expected}; got {short_json(given.get(name))}."


def describe_expected(field: dict[str, Any]) -> str:
    """The values that a field of the schema accepts, in words."""
    if "enum" in field:
        return "one of " + ", ".join(str(value) for value in field["enum"])
    words = _TYPE_NAMES.get(field.get("type", ""), "a value")
    low, high = field.get("minimum"), field.get("maximum")
    if low is not None and high is not None:
        words += f" from {low} to {high}"
    elif low is not None:
        words += f" of at least {low}"
    if field.get("minLength"):
        words += " that is not empty"
    if "maxLength" in field:
        words += f" of at most {field['maxLength']} characters"
    if "pattern" in field:
        words += f" that matches {field['pattern']}"
    return words


def short_json(value: Any) -> str:
    """The value as printable JSON, cut after ``MAX_VALUE_CHARACTERS``."""
    text = json.dumps(value, default=str)
    if len(text) <= MAX_VALUE_CHARACTERS:
        return text
    return f"{text[:MAX_VALUE_CHARACTERS]}... ({len(text)} characters)"
