"""Puts ids of rows that exist into random requests: without them nearly all answers would be 404."""

from __future__ import annotations

import random
from typing import Any
from urllib.parse import unquote

from tests.security.access_table import bodies
from tests.security.two_projects import ProjectObjects

# Of ten requests so many name existing rows, and so many carry fields of a body that is known to work.
NAME_ROWS, HAVE_VALID_FIELDS = 8, 5
QUERY_IDS = {
    "agent": "agent_id",
    "assignee": "member_id",
    "folder": "folder_id",
    "sprint": "sprint_id",
    "task": "number",
    "type": "type_id",
    "replacement_id": "status_id",
}


def put_rows(case: Any, rows: ProjectObjects, choices: random.Random) -> None:
    """Change the path, the query and the body of a request in place, most of the time."""
    parameters = case.path_parameters
    for name in parameters:
        if _leads_elsewhere(parameters[name]) or choices.randrange(10) < NAME_ROWS:
            parameters[name] = str(rows.ids[name])
    for name, key in QUERY_IDS.items():
        if name in case.query and choices.randrange(10) < NAME_ROWS:
            case.query[name] = str(rows.ids[key])
    valid = bodies(rows).get(f"{case.method.upper()} {case.operation.path}")
    if isinstance(case.body, dict) and isinstance(valid, dict):
        for name, value in valid.items():
            if choices.randrange(10) < HAVE_VALID_FIELDS:
                case.body[name] = value


def _leads_elsewhere(value: Any) -> bool:
    """Whether the part of a path would make it the path of another operation."""
    text = unquote(str(value))
    return not text.strip(".") or "/" in text or "?" in text or "#" in text
