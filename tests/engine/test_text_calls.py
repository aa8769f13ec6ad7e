"""T-29: a call that a model only wrote down is recognised, and an example of one is not."""

import pytest

from paca.engine.text_calls import written_call

CALL = '{"name": "bash", "arguments": {"command": "ls"}}'


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{CALL}\n```",
        f"I look.\n\n```\n{CALL}\n```\n",
        f"<tool_call>{CALL}</tool_call>",
        f"Now:\n<tool_call>\n{CALL}\n</tool_call>\n",
        '```tool_call\n{"tool": "bash", "parameters": {"command": "ls"}}\n```',
    ],
)
def test_a_call_at_the_end_of_an_answer_is_one(text):
    assert written_call(text, {"bash"}) == "bash"


@pytest.mark.parametrize(
    "text",
    [
        f"To list files a model writes\n```json\n{CALL}\n```\nand the server runs it.",
        f"The format is `<tool_call>{CALL}</tool_call>`, as the manual says.",
        f"```markdown\nAn example:\n<tool_call>{CALL}</tool_call>",
        '```json\n{"name": "bash"}\n```',
        '```json\n{"name": "other", "arguments": {}}\n```',
        "```json\n{broken\n```",
        "```json\n[1, 2]\n```",
        "Nothing here.",
        "",
    ],
)
def test_an_example_or_other_json_is_none(text):
    assert written_call(text, {"bash"}) is None
