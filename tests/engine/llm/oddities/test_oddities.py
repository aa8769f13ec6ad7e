"""Each recorded oddity over real HTTP: no answer is lost, and no word of the provider."""

import pytest

from paca.engine.llm import registry
from paca.engine.llm.base import Reply, TextDelta, Thinking
from paca.engine.llm.http_pool import new_pool
from paca.engine.llm.model_errors import ModelError
from tests.engine.llm.oddities import arguments, bodies, ends, errors, reasoning
from tests.engine.llm.oddities.shape import Shape
from tests.engine.llm.request_builders import chunks_of, request_with
from tests.support.model_script import Raw
from tests.support.model_server import ModelServer

pytestmark = pytest.mark.anyio
KINDS = {
    "arguments": arguments.SHAPES,
    "body": bodies.SHAPES,
    "end": ends.SHAPES,
    "error": errors.SHAPES,
    "reasoning": reasoning.SHAPES,
}
ALL = {f"{kind}: {name}": shape for kind, shapes in KINDS.items() for name, shape in shapes.items()}
LEAST = 80


async def chunks_from(server: ModelServer, shape: Shape):
    server.script([Raw(shape.body, content_type=shape.label, status=shape.status)])
    base_url = server.base_url if shape.dialect == "anthropic" else f"{server.base_url}/v1"
    async with new_pool() as http:
        llm = registry.open_llm(f"{shape.dialect}/odd", base_url=base_url, api_key="sk-test-key", http=http)  # fmt: skip
        return await chunks_of(llm, request_with("Hi"))


@pytest.mark.parametrize("name", [name for name, shape in ALL.items() if shape.error is None])
async def test_odd_answer_is_taken_whole(server, name):
    shape = ALL[name]
    chunks = await chunks_from(server, shape)
    reply = chunks[-1]
    assert isinstance(reply, Reply)
    streamed = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
    assert reply.text in streamed
    thoughts = "".join(block.text for block in reply.blocks if isinstance(block, Thinking))
    found = {
        "text": reply.text,
        "thinking": thoughts.strip("\n") if shape.thinking == "" else thoughts,
        "calls": tuple((call.tool, call.arguments) for call in reply.calls),
        "stop": reply.stop.value,
        "notice": " ".join(notice.code for notice in reply.notices),
    }
    wanted = {part: getattr(shape, part) for part in found if getattr(shape, part) is not None}
    assert {part: found[part] for part in wanted} == wanted
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", [name for name, shape in ALL.items() if shape.error])
async def test_odd_error_is_told_in_the_providers_words(server, name):
    shape = ALL[name]
    with pytest.raises(ModelError) as caught:
        await chunks_from(server, shape)
    assert type(caught.value) is shape.error, caught.value.detail
    assert shape.words in caught.value.detail
    if shape.retried is not None:
        assert caught.value.retryable == shape.retried
    caught.value.detail.encode()
    assert "\0" not in caught.value.detail


def test_odd_answers_are_at_least_as_many_as_promised_and_of_both_dialects():
    assert len(ALL) >= LEAST
    assert {shape.dialect for shape in ALL.values()} == {"openai", "anthropic"}
