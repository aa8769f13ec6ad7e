"""The toolbox: descriptions for the model, and errors for invalid calls."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paca.engine.tools.base import AnyTool, Effect
from paca.engine.tools.bash import Bash
from paca.engine.tools.registry import BadArguments, Toolbox, UnknownTool, workspace_tools

TOOLBOX = Toolbox(workspace_tools())


def words(node: Any) -> set[str]:
    """The keywords of the schema, without the names of fields."""
    if not isinstance(node, dict):
        return set()
    fields = node.get("properties", {})
    inside = [words(field) for field in fields.values()]
    return set(node).union(*inside, words(node.get("items")))


def test_toolbox_lists_the_workspace_tools_in_a_fixed_order():
    names = [spec.name for spec in TOOLBOX.specs()]
    assert names == [
        *(
            "background_run",
            "bash",
            "check_background",
            "compact_context",
            "edit_file",
            "git_diff",
            "git_log",
            "git_status",
        ),
        "list_directory",
        *("read_file", "search_files", "stop_background", "think", "write_file"),
        "write_todo_list",
    ]


def test_toolbox_specs_are_the_same_bytes_in_any_order_of_tools():
    def packed(tools: tuple[AnyTool, ...]) -> bytes:
        specs = Toolbox(tools).specs()
        return json.dumps([(s.name, s.description, s.arguments) for s in specs]).encode()

    assert packed(workspace_tools()) == packed(tuple(reversed(workspace_tools())))


def test_tool_schemas_are_plain_and_describe_every_field():
    for spec in TOOLBOX.specs():
        jsonschema.Draft202012Validator.check_schema(spec.arguments)
        assert spec.arguments["type"] == "object"
        assert spec.arguments["additionalProperties"] is False
        assert not words(spec.arguments) & {"title", "$ref", "$defs", "anyOf"}, spec.name
        assert all(field["description"] for field in spec.arguments["properties"].values())


def test_tool_descriptions_are_whole_paragraphs():
    for spec in TOOLBOX.specs():
        assert len(spec.description) > 40
        assert all(len(part) > 40 for part in spec.description.split("\n\n"))
        assert "\n" not in spec.description.replace("\n\n", "")


def test_tool_catalogue_is_json_with_the_effect_of_each_tool():
    listed = json.loads(json.dumps(TOOLBOX.catalogue()))
    assert all(
        set(entry)
        == {"name", "description", "arguments", "effect", "safe", "timeout_seconds", "package"}
        for entry in listed
    )
    effects = {entry["name"]: entry["effect"] for entry in listed}
    assert effects == {
        "background_run": "opaque",
        "bash": "opaque",
        "check_background": "read_only",
        "stop_background": "idempotent",
        "compact_context": "read_only",
        "edit_file": "keyed",
        "git_diff": "read_only",
        "git_log": "read_only",
        "git_status": "read_only",
        "list_directory": "read_only",
        "read_file": "read_only",
        "search_files": "read_only",
        "think": "read_only",
        "write_file": "idempotent",
        "write_todo_list": "idempotent",
    }


def test_tools_that_change_the_workspace_are_reattachable():
    for tool in workspace_tools():
        changes = tool.uses_workspace and tool.effect is not Effect.READ_ONLY
        assert tool.reattachable or not changes


def test_toolbox_refuses_two_tools_of_one_name():
    with pytest.raises(ValueError, match="two tools are named 'bash'"):
        Toolbox([Bash(), Bash()])


def test_toolbox_parses_valid_arguments():
    assert TOOLBOX.parse("bash", {"command": "ls", "timeout_seconds": None}).subject == "ls"
    assert TOOLBOX.parse("list_directory", {}).arguments.model_dump() == {
        "path": ".",
        "depth": 1,
        "glob": None,
    }


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        (
            "run_command",
            'no tool "run_command". Did you mean bash? The tools are: background_run, bash,',
        ),
        ("Read_File", "Did you mean read_file?"),
        ("grep", "Did you mean search_files?"),
        ("str_replace", "Did you mean edit_file?"),
        ("", 'There is no tool "". The tools are: background_run, bash'),
        ("x" * 5000, "(5002 characters). The tools are"),
        ("a\x1b[2J\ud800", r'no tool "a\u001b[2J\ud800".'),
    ],
)
def test_toolbox_names_the_known_tools_for_an_unknown_one(name: str, advice: str):
    with pytest.raises(UnknownTool) as raised:
        TOOLBOX.parse(name, {})
    assert advice in raised.value.detail


BAD = [
    ("bash", {}, "- command: is missing; expected text that is not empty"),
    ("bash", {"cmd": "ls"}, '- "cmd": there is no such field. Did you mean command?'),
    ("bash", {"command": ""}, '- command: expected text that is not empty of at most 1000000 characters; got "".'),
    ("bash", {"command": None}, "; got null."),
    ("bash", {"command": ["ls"]}, '; got ["ls"].'),
    ("bash", {"command": "a\0b"}, r'- command: expected text without NUL characters; got "a\u0000b".'),
    ("bash", {"command": "x" * 1_000_001}, "(1000003 characters)."),
    ("bash", {"command": "ls", "timeout_seconds": "5 s"}, 'expected a whole number from 1 to 1800; got "5 s".'),
    ("bash", {"command": "ls", "timeout_seconds": "5.5"}, 'from 1 to 1800; got "5.5".'),
    ("bash", {"command": "ls", "timeout": 5}, '- "timeout": there is no such field. Did you mean timeout_seconds?'),
    ("bash", {"script": "ls"}, '- "script": there is no such field.'),
    ("bash", {"command": "ls", "timeout_seconds": 2.5}, "expected a whole number from 1 to 1800; got 2.5."),
    ("bash", {"command": "ls", "timeout_seconds": 0}, "from 1 to 1800; got 0."),
    ("bash", {"command": "ls", "timeout_seconds": 10**30}, "from 1 to 1800; got 1000000000000000000000000000000."),
    ("read_file", {"path": "a", "first_line": 0}, "- first_line: expected a whole number of at least 1; got 0."),
    ("read_file", {"path": "a", "line_count": True}, "expected a whole number from 1 to 2000; got true."),
    ("read_file", {"path": "a\0"}, "- path: expected text without NUL characters"),
    ("read_file", {"path": "x" * 5000}, "of at most 4096 characters; got"),
    ("write_file", {"path": "a", "content": "\ud800"}, "- content: expected text without lone surrogates"),
    ("write_file", {"path": "a", "content": {"a": 1}}, '- content: expected text of at most 1000000 characters; got {"a": 1}.'),
    ("edit_file", {"path": "a", "old": "", "new": "b"}, "- old: expected text that is not empty"),
    ("edit_file", {"path": "a", "old": "a", "new": "b", "every": "yes"}, '- every: expected true or false; got "yes".'),
    ("search_files", {"pattern": "x", "glob": "}{"}, '- glob: expected a glob such as *.py or src/**/*.ts; got "}{".'),
    ("search_files", {"pattern": "a\nb"}, "- pattern: expected text without line breaks, since"),
    ("git_diff", {"revision": "--output=/x"}, '- revision: expected text of at most 200 characters that matches ^[^-'),
    ("git_log", {"limit": 1000}, "- limit: expected a whole number from 1 to 200; got 1000."),
    ("think", [1], "think did not run: expected an object of arguments; got [1]."),
    ("think", None, "expected an object of arguments; got null."),
]  # fmt: skip


MEANT = [
    ("bash", {"command": "ls", "timeout_seconds": "5"}, {"timeout_seconds": 5}, 'timeout_seconds was "5" and was taken as 5.'),
    ("bash", {"command": "ls", "timeout_seconds": 5.0}, {"timeout_seconds": 5}, "timeout_seconds was 5.0 and was taken as 5."),
    ("bash", {"command": "ls", "timeout_seconds": " 5.0"}, {"timeout_seconds": 5}, "was taken as 5."),
    ("git_diff", {"staged": "True"}, {"staged": True}, 'staged was "True" and was taken as true.'),
    ("search_files", {"pattern": "x", "ignore_case": "false"}, {"ignore_case": False}, "was taken as false."),
    ("bash", {"command": "ls", "description": "List"}, {"command": "ls"}, 'There is no field "description"; it was ignored.'),
    ("think", {"thought": "x", "mood": 1, "why": 2}, {"thought": "x"}, 'There is no field "mood", "why"; it was ignored.'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "meant", "note"), MEANT)
def test_toolbox_takes_arguments_that_can_be_meant_in_one_way(name, arguments, meant, note):
    call = TOOLBOX.parse(name, arguments)
    assert {field: getattr(call.arguments, field) for field in meant} == meant
    assert note in " ".join(call.notes)


def test_toolbox_notes_nothing_about_arguments_that_fit():
    assert TOOLBOX.parse("bash", {"command": "5", "timeout_seconds": 5}).notes == ()


@pytest.mark.parametrize(("name", "arguments", "explanation"), BAD)
def test_toolbox_explains_bad_arguments(name: str, arguments: Any, explanation: str):
    with pytest.raises(BadArguments) as raised:
        TOOLBOX.parse(name, arguments)
    text = raised.value.detail
    assert text.startswith(f"{name} did not run: ")
    assert explanation in text
    assert len(text) < 700
    text.encode()


def test_toolbox_names_every_wrong_field_at_once():
    with pytest.raises(BadArguments) as raised:
        TOOLBOX.parse("edit_file", {"file": "a", "old": 1, "every": 0})
    lines = raised.value.detail.split("\n")
    assert sorted(line.split(":")[0] for line in lines[1:-1]) == [
        '- "file"',
        "- every",
        "- new",
        "- old",
        "- path",
    ]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = sorted({name for spec in TOOLBOX.specs() for name in spec.arguments["properties"]})


@given(
    st.sampled_from([spec.name for spec in TOOLBOX.specs()]),
    st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=6), ANY, max_size=4) | ANY,
)
def test_toolbox_parses_or_explains_any_arguments(name: str, arguments: Any):
    try:
        parsed = TOOLBOX.parse(name, arguments)
        text = parsed.subject
    except BadArguments as error:
        text = error.detail
        parsed = None
    assert text.startswith(f"{name} did not run: ") if parsed is None else len(text) <= 120


def test_read_only_toolbox_refuses_and_hides_each_tool_that_changes_something():
    toolbox = Toolbox(workspace_tools(), read_only=True)
    assert [spec.name for spec in toolbox.specs()] == [
        "check_background",
        *("compact_context", "git_diff", "git_log", "git_status", "list_directory"),
        *("read_file", "search_files", "think", "write_todo_list"),
    ]
    for name in ("background_run", "bash", "edit_file", "stop_background", "write_file"):
        with pytest.raises(UnknownTool, match=f"{name} did not run: you have read-only tools"):
            toolbox.parse(name, {})
        assert "read-only" in toolbox.explain_unreadable(name, "Cut off.")
        assert toolbox.get(name).name == name


def test_tool_that_is_switched_off_is_refused_and_not_shown():
    toolbox = Toolbox(workspace_tools(), off={"bash", "think"})
    shown = [spec.name for spec in toolbox.specs()]
    assert shown == [tool["name"] for tool in toolbox.catalogue()]
    assert not {"bash", "think"} & {*shown}
    with pytest.raises(UnknownTool, match="bash did not run: it is switched off") as refused:
        toolbox.parse("bash", {"command": "ls"})
    assert refused.value.detail.endswith(f"The tools are: {', '.join(shown)}.")
    assert "switched off" in toolbox.explain_unreadable("bash", "Cut off.")
    with pytest.raises(UnknownTool) as unknown:
        toolbox.parse("shell", {})
    assert "Did you mean" not in unknown.value.detail
    assert toolbox.get("bash").name == "bash"  # a call of an earlier worker is resumed


def test_toolbox_without_tools_says_so():
    with pytest.raises(UnknownTool, match="You have no tools"):
        Toolbox(workspace_tools(), off={tool.name for tool in workspace_tools()}).parse("bash", {})
