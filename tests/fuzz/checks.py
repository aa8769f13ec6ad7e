"""Finds out whether an answer is one that the schema documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from paca.accounts.api.schema import error_codes

# The fuzzed server has no worker: an answer that says so is right.
WITHOUT_A_WORKER = "files_unavailable"
CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def find_faults(case: Any, answer: Any) -> Iterator[tuple[str, str]]:
    """The kind and the text of each fault of an answer."""
    try:
        case.validate_response(
            answer, checks=CHECKS if _has_no_worker(answer) else [not_a_server_error, *CHECKS]
        )
    except FailureGroup as group:
        for each in group.exceptions:
            yield type(each).__name__, f"{answer.status_code} {each}"[:1500]
    except Failure as failure:
        yield type(failure).__name__, f"{answer.status_code} {failure}"[:1500]
    if answer.status_code < 400 and str(answer.status_code) not in _documented(case):
        yield "undocumented status", str(answer.status_code)
    if answer.status_code >= 400:
        yield from _faults_of_error(answer)


def _has_no_worker(answer: Any) -> bool:
    return answer.status_code == 503 and WITHOUT_A_WORKER.encode() in answer.content


def _documented(case: Any) -> set[str]:
    return {str(status) for status in case.operation.definition.raw["responses"]}


def _faults_of_error(answer: Any) -> Iterator[tuple[str, str]]:
    """Every error has a documented code with its own status."""
    try:
        code = answer.json()["code"]
    except (ValueError, KeyError, TypeError):
        yield "error without a code", f"{answer.status_code} {answer.text[:300]}"
        return
    documented, _ = error_codes().get(code, (0, ""))
    if documented != answer.status_code:
        yield "undocumented code", f"{answer.status_code} {answer.text[:300]}"
