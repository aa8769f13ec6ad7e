"""The operations that the API documents, and how many requests each gets."""

from __future__ import annotations

from typing import Any

import schemathesis
from drf_spectacular.generators import SchemaGenerator
from schemathesis.core.result import Ok

# Each has path parameters and headers; a body or a query gives more to vary.
LEAST_INPUTS, MOST_INPUTS = 2, 16


def all_operations(requests: int) -> list[tuple[Any, int]]:
    """Each operation with its share of the requests: the more inputs, the more. No operation is left out."""
    document = SchemaGenerator().get_schema(request=None, public=True)
    schema = schemathesis.openapi.from_dict(document)
    found = [each.ok() for each in schema.get_all_operations() if isinstance(each, Ok)]
    declared = sum(len(methods) for methods in document["paths"].values())
    assert len(found) == declared, f"{declared - len(found)} operations cannot be read"
    weights = [_inputs(document, operation) for operation in found]
    total = sum(weights)
    return [
        (operation, -(-requests * weight // total))
        for operation, weight in zip(found, weights, strict=True)
    ]


def body_properties(document: dict[str, Any], operation: Any) -> dict[str, Any]:
    """The properties of the operation's JSON body, by name."""
    definition = document["paths"][operation.path][operation.method.lower()]
    content = definition.get("requestBody", {}).get("content", {})
    reference = content.get("application/json", {}).get("schema", {}).get("$ref", "")
    component = document["components"]["schemas"].get(reference.rpartition("/")[2], {})
    properties: dict[str, Any] = component.get("properties", {})
    return properties


def _inputs(document: dict[str, Any], operation: Any) -> int:
    definition = document["paths"][operation.path][operation.method.lower()]
    query = [each for each in definition.get("parameters", []) if each["in"] == "query"]
    count = LEAST_INPUTS + len(query) + len(body_properties(document, operation))
    return min(count, MOST_INPUTS)
