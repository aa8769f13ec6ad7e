"""The tools on a project as a model sees them."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paca.agents.toolbox import make_toolbox
from paca.engine.llm.base import ToolSpec
from paca.engine.tools.registry import BadArguments, UnknownTool
from paca.projects.tools.all_tools import project_tools
from tests.engine.tools.test_registry import ANY, words

TOOLBOX = make_toolbox()
SPECS = [spec for spec in TOOLBOX.specs() if spec.name in {tool.name for tool in project_tools()}]
FIELDS = sorted({name for spec in SPECS for name in spec.arguments["properties"]})
# They are part of each request. Four characters are about one token.
MAX_CHARACTERS = 10_000


def as_json(spec: ToolSpec) -> str:
    return json.dumps(
        {"name": spec.name, "description": spec.description, "input_schema": spec.arguments}
    )


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_tool_is_described_plainly_with_required_fields_first(spec: ToolSpec) -> None:
    schema = spec.arguments
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert not words(schema) & {"title", "$ref", "$defs", "anyOf", "allOf"}
    assert all(field["description"] for field in schema["properties"].values())
    required = schema.get("required", [])
    assert list(schema["properties"])[: len(required)] == required
    assert len(spec.description) > 40
    assert "\n" not in spec.description.replace("\n\n", "")


def test_tools_stay_small_enough_to_be_sent_with_each_request() -> None:
    assert sum(len(as_json(spec)) for spec in SPECS) < MAX_CHARACTERS


def test_specs_are_the_same_bytes_in_every_run() -> None:
    again = [spec for spec in make_toolbox().specs() if spec in SPECS]
    assert list(map(as_json, again)) == list(map(as_json, SPECS))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("set_task_status", "update_task"),
        ("assign_task", "update_task"),
        ("get_task", "read_task"),
        ("comment", "add_comment"),
        ("write_doc", "update_doc"),
        ("list_members", "read_project"),
        ("list_sprints", "read_project"),
        ("search_tasks", "search_project"),
    ],
)
def test_names_that_models_try_lead_to_the_tool(name: str, meant: str) -> None:
    with pytest.raises(UnknownTool, match=f"Did you mean .*{meant}"):
        TOOLBOX.parse(name, {})


@pytest.mark.parametrize(
    ("tool", "arguments", "subject"),
    [
        ("read_task", {"task": "paca-4"}, "PACA-4"),
        ("read_task", {"task": 4}, "task 4"),
        ("update_task", {"task": "PACA-4", "status": "Done"}, "PACA-4"),
        ("create_task", {"title": "Fix the login\nnow"}, "Fix the login …"),
        ("add_comment", {"task": "PACA-4", "text": "Hi"}, "PACA-4"),
        ("add_comment", {"doc": "Guide", "text": "Hi"}, "Guide"),
        ("list_tasks", {"assignee": "me", "status": "Done"}, "Done, me"),
        ("read_doc", {"doc": "Guide"}, "Guide"),
        ("read_project", {}, ""),
        ("save_attachment", {"task": 4, "attachment": "log.txt"}, "log.txt of task 4"),
        ("search_project", {"words": "login"}, "login"),
    ],
)
def test_card_of_a_call_tells_what_it_is_about(
    tool: str, arguments: dict[str, Any], subject: str
) -> None:
    assert TOOLBOX.parse(tool, arguments).subject == subject


@given(
    st.sampled_from([spec.name for spec in SPECS]),
    st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=6), ANY, max_size=4) | ANY,
)
def test_toolbox_parses_or_explains_any_arguments(name: str, arguments: Any) -> None:
    try:
        text, begin = TOOLBOX.parse(name, arguments).subject, ""
    except BadArguments as error:
        text, begin = error.detail, f"{name} did not run: "
    assert text.startswith(begin)
    assert begin or len(text) <= 120
