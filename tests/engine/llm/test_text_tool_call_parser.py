"""T-29: a tool call at the end of the text is found, and an example of one is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paca.engine.llm.text_tool_calls.parser import (
    ends_with_unreadable_call,
    parts,
    split_calls,
    streamable_length,
    trailing_call,
)

CALL = '{"name": "bash", "arguments": {"command": "ls"}}'
OTHER = '{"name": "bash", "arguments": {"command": "pwd"}}'
FENCED = f"```json\n{CALL}\n```"
TAGGED = f"<tool_call>{CALL}</tool_call>"

WRITTEN = [
    FENCED,
    f"I look.\n\n```\n{CALL}\n```\n",
    TAGGED,
    f"Now: {TAGGED}",
    f"Now:\n<tool_call>\n{CALL}\n</tool_call>\n",
    '```tool_call\n{"tool": "bash", "parameters": {"command": "ls"}}\n```',
    f"~~~json\n{CALL}\n~~~",
    f"````json\n{CALL}\n````",
    f"As before:\n```python\nprint(1)\n```\nand so\n{FENCED}",
]
EXAMPLES = [
    f"To list files a model writes\n{FENCED}\nand the server runs it.",
    f"The format is `{TAGGED}`, as the manual says.",
    f"The format is `{TAGGED}`",
    f"```markdown\nAn example:\n{TAGGED}",
    f"```markdown\nAn example:\n{TAGGED}\n```",
    f"````markdown\n{FENCED}\n````",
    f"> {TAGGED}",
    "\n".join(f"> {line}" for line in FENCED.splitlines()),
    "In code:\n\n" + "\n".join(f"    {line}" for line in FENCED.splitlines()),
    f"In code:\n\n    {TAGGED}",
    f"```python\n{CALL}\n```",
    f"```xml\n{TAGGED}\n```",
    f"{CALL}",
    '```json\n{"name": "bash"}\n```',
    '```json\n{"name": "other", "arguments": {}}\n```',
    "```json\n{broken\n```",
    "```json\n[1, 2]\n```",
    f"```json\n{CALL}",
    "Nothing here.",
    "",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_parser_finds_a_call_at_the_end_of_an_answer(text):
    assert trailing_call(text, {"bash"}) == "bash"
    words, (call,) = split_calls(text, {"bash"})
    assert (call.tool, call.arguments) == ("bash", {"command": "ls"})
    assert CALL not in words


@pytest.mark.parametrize("text", EXAMPLES)
def test_parser_ignores_examples_and_other_json(text):
    assert trailing_call(text, {"bash"}) is None
    assert split_calls(text, {"bash"}) == (text, [])


def test_parser_finds_several_calls_at_the_end_in_order():
    text = f"Two things.\n{FENCED}\n\n<tool_call>{OTHER}</tool_call>\n"
    words, calls = split_calls(text, {"bash"})
    assert words == "Two things."
    assert [call.arguments["command"] for call in calls] == ["ls", "pwd"]


def test_parser_accepts_any_tool_name_in_a_block_for_calls():
    unknown = '{"name": "fly", "arguments": {}}'
    assert split_calls(f"<tool_call>{unknown}</tool_call>", {"bash"})[1][0].tool == "fly"
    assert trailing_call(f"<tool_call>{unknown}</tool_call>", {"bash"}) is None


@pytest.mark.parametrize(
    ("text", "spoilt"),
    [
        ("<tool_call>{broken}</tool_call>", True),
        (f"<tool_call>{CALL}", True),
        ("```tool_call\nbash ls\n```", True),
        ('<tool_call>{"name": "bash", "arguments": {"timeout": NaN}}</tool_call>', True),
        (r'<tool_call>{"name": "bash", "arguments": {"command": "\ud800"}}</tool_call>', True),
        (TAGGED, False),
        ("```json\n{broken\n```", False),
        ("Nothing here.", False),
        ("", False),
    ],
)
def test_parser_tells_an_unreadable_call_from_text(text, spoilt):
    assert ends_with_unreadable_call(text) is spoilt


@pytest.mark.parametrize("text", WRITTEN)
def test_parser_holds_back_an_unfinished_call(text):
    shown = max(streamable_length(text[:at], {"bash"}) for at in range(len(text) + 1))
    words, _ = split_calls(text, {"bash"})
    assert text[:shown].rstrip() == words


@pytest.mark.parametrize("text", EXAMPLES)
def test_parser_releases_text_that_is_no_call(text):
    after = f"{text}\n```\n\nThat is how." if text.count("```") % 2 else f"{text}\nThat is how."
    assert streamable_length(after, {"bash"}) == len(after)


@given(st.lists(st.sampled_from(["```", "json", "\n", "<tool_call>", "</tool_call>", CALL, "> ", "    ", "~~~", "a", "`"]), max_size=30).map("".join))  # fmt: skip
def test_parser_splits_any_text_without_loss(text):
    found = list(parts(text))
    assert "".join(text[part.start : part.end] for part in found if not part.kind) is not None
    assert all(one.end <= other.start for one, other in zip(found, found[1:], strict=False))
    words, calls = split_calls(text, {"bash"})
    assert text.startswith(words)
    assert 0 <= streamable_length(text, {"bash"}) <= len(text)
    assert bool(calls) == (words != text) or not calls
