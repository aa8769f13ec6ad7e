"""Wrong arguments of the tools on a project, and the error that a model gets for each."""

from typing import Any

import pytest

from paca.projects.tools.all_tools import project_tools
from tests.projects.tools.conftest import AgentAtWork
from tests.projects.tools.test_rights import CALLS, task, written

__all__ = ["task"]

TEXT = ([], "expected text"), ("a\0b", "without NUL characters")
DAY = ("tomorrow", "expected a day as YYYY-MM-DD"), ("2026-02-30", "2026-02-30 is no day")
NO_TASK = ("QUAY-99", "There is no task 'QUAY-99' in this project")
NO_DOC = ("Nothing", "There is no doc 'Nothing'. Docs: Guide.")
NO_COMMENT = ("Nothing", "There is no comment 'Nothing' there.")
CHOICE = (("x", "expected one of"),)
LINE = (("x", "expected a whole number"), (0, "expected a whole number"))
# The wrong values of each argument, in whichever tool it is, and a part of the error.
WRONG: dict[str, tuple[tuple[Any, str], ...]] = {
    "after": (*TEXT, NO_DOC),
    "answer_to": (*TEXT, NO_COMMENT),
    "append": TEXT,
    "assignee": (*TEXT, ("bob", "No member has the handle 'bob'. Handles: ada-harbor, rosa.")),
    "assignees": (({}, "expected a list"), (["bob"], "No member has the handle 'bob'")),
    "attachment": (*TEXT, ("nothing.txt", "nothing.txt")),
    "before": (("x", "expected a whole number"),),
    "before_comment": (*TEXT, NO_COMMENT),
    "blocked_by": (({}, "expected a list"), (["QUAY-99"], NO_TASK[1])),
    "comment": (*TEXT, NO_COMMENT),
    "description": TEXT,
    "doc": (*TEXT, NO_DOC),
    "due_date": DAY,
    "first_line": LINE,
    "folder": (*TEXT, ("Vault", "There is no folder 'Vault' in the project.")),
    "kind": CHOICE,
    "label": (*TEXT, ("hush", "The project has no label 'hush'.")),
    "labels": (({}, "expected a list"), (["x" * 51], "50")),
    "limit": (("x", "expected a whole number"), (0, "from 1 to")),
    "line_count": LINE,
    "new": TEXT,
    "old": TEXT,
    "parent": (*TEXT, NO_TASK),
    "path": (([], "expected text"), ("a\0b", "without NUL characters")),
    "priority": CHOICE,
    "sprint": (*TEXT, ("Night", "The project has no sprint 'Night'.")),
    "start_date": DAY,
    "state": CHOICE,
    "status": (*TEXT, ("Sealed", "The project has no status 'Sealed'. They are:")),
    "story_points": (("x", "expected a whole number"), (1001, "from -1 to 1000")),
    "task": (*TEXT, NO_TASK),
    "text": TEXT,
    "title": (*TEXT, ("", "not empty")),
    "type": (*TEXT, ("Heist", "The project has no task type 'Heist'.")),
    "version": LINE,
    "words": (*TEXT, ("", "not empty")),
}
# Arguments that do not fit together, and a missing one.
TOGETHER: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("add_comment", {"text": "Hi"}, "name either a task or a doc"),
    ("add_comment", {"task": 1, "doc": "Guide", "text": "Hi"}, "name either a task or a doc"),
    ("create_task", {"title": "x", "status_id": "1"}, "status_id"),
    ("read_task", {}, "task: is missing"),
    ("update_doc", {"doc": "Guide"}, "give old and new, append, text or title"),
    ("update_doc", {"doc": "Guide", "old": "nowhere", "new": "x"}, "the doc does not contain old"),
    ("update_doc", {"doc": "Guide", "text": "x"}, "version"),
    ("update_doc", {"doc": "Guide", "text": "x", "version": 99}, "version"),
    ("update_task", {"task": 1, "parent": "1"}, "cannot be its parent"),
    ("update_task", {"task": 1, "blocked_by": ["1"]}, "is this task"),
    ("update_task", {"task": 1, "start_date": "2026-02-02", "due_date": "2026-02-01"},
     "before the start date"),
)  # fmt: skip


def test_every_argument_of_every_tool_has_its_wrong_values() -> None:
    fields = {field for tool in project_tools() for field in tool.Arguments.model_fields}
    assert fields == set(WRONG)


@pytest.mark.parametrize("tool", CALLS)
def test_wrong_argument_is_refused_and_the_error_says_what_fits(
    agent: AgentAtWork, task: Any, tool: str
) -> None:
    agent.gets_role("owner")
    [used] = [each for each in project_tools() if each.name == tool]
    before = written()
    for field in used.Arguments.model_fields:
        for value, message in WRONG[field]:
            arguments = {**CALLS[tool][0], field: value}
            if (tool, field) == ("add_comment", "doc"):
                del arguments["task"]
            text = agent.is_refused(tool, **arguments)
            assert message in text, (field, value, text)
    assert written() == before


@pytest.mark.parametrize(("tool", "arguments", "message"), TOGETHER)
def test_arguments_that_do_not_fit_together_are_refused(
    agent: AgentAtWork, task: Any, tool: str, arguments: dict[str, Any], message: str
) -> None:
    before = written()
    assert message in agent.is_refused(tool, **arguments)
    assert written() == before
