"""A model that says the agent's key: it is masked like in a refusal, wherever the stream cuts it."""

import pytest

from paca.engine.llm.base import (
    Notice,
    Reply,
    StopReason,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolUse,
    Usage,
)
from paca.engine.llm.secret_masking import masked
from tests.engine.llm.request_builders import chunks_of, request_with
from tests.support.model_script import calls, says, thinks
from tests.support.scripted_llm import ScriptedLLM

pytestmark = pytest.mark.anyio
KEY = "sk-very-secret-1"


async def test_key_in_an_answer_is_masked_in_pieces_and_whole():
    said = (
        thinks(f"It is {KEY}.")
        + says(f"Your key is {KEY}, keep {KEY[:5]}!")
        + calls(bash=f"echo {KEY}")
    )
    chunks = await chunks_of(masked(ScriptedLLM([said]), KEY), request_with("Hi"))
    text = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
    thought = "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingDelta))
    assert (text, thought) == (f"Your key is ***, keep {KEY[:5]}!", "It is ***.")
    by_kind = {type(block): block for block in chunks[-1].blocks}
    assert by_kind[Text].text == text
    assert by_kind[Thinking].text == thought
    assert by_kind[ToolUse].arguments == {"command": "echo ***"}


@pytest.mark.parametrize("key", [KEY, "-----BEGIN KEY-----\nab'c\"d", "back\\slash-key"])
async def test_key_of_any_characters_is_masked_in_arguments_and_attached_fields(key):
    use = ToolUse("call1", "bash", {"command": [f"echo {key}"], key: 1}, attached={"f": {"s": key}})
    thought = Thinking("Hm.", attached={"f": {"s": [key]}})
    signed = Thinking(f"It is {key}.", signature="SIG")
    said = Reply((thought, signed, use), StopReason.TOOLS, Usage())

    class Saying:
        async def stream(self, request):
            yield said

    (reply,) = await chunks_of(masked(Saying(), key), request_with("Hi"))
    assert reply.blocks == (
        Thinking("Hm."),
        Thinking("It is ***."),
        ToolUse("call1", "bash", {"command": ["echo ***"], "***": 1}),
    )


async def test_key_in_the_name_of_a_tool_and_in_a_notice_is_masked():
    use = ToolUse("call1", f"run_{KEY}", {})
    notice = Notice("unknown_stop", f"The model stopped for an unknown reason ({KEY}).")
    said = Reply((use,), StopReason.TOOLS, Usage(), (notice,))

    class Saying:
        async def stream(self, request):
            yield said

    (reply,) = await chunks_of(masked(Saying(), KEY), request_with("Hi"))
    assert KEY not in str(reply)
    assert reply.calls[0].tool == "run____"


async def test_answer_without_the_key_is_left_as_it_is():
    chunks = await chunks_of(masked(ScriptedLLM([says("s sk sk-")]), KEY), request_with("Hi"))
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta)) == "s sk sk-"


def test_short_key_is_no_secret():
    llm = ScriptedLLM([])
    assert masked(llm, "none") is llm


async def test_each_secret_of_a_key_with_more_than_one_value_is_masked():
    key = '{"access_key_id": "AKIAOWNKEY", "secret_access_key": "own/secret/1", "region": "eu-central-1"}'
    said = says("AKIAOWNKEY and own/secret/1 in eu-central-1")
    chunks = await chunks_of(masked(ScriptedLLM([said]), key), request_with("Hi"))
    assert chunks[-1].text == "*** and *** in eu-central-1"
