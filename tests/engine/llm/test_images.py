"""Images in results reach a model that can see; others get the line that names them."""

from __future__ import annotations

import json

import pytest

from paca import events
from paca.engine.context import measuring, trimming
from paca.engine.context.history import History, advance
from paca.engine.llm import seen_images
from paca.engine.llm.anthropic.encoder import Encoder
from paca.engine.llm.base import Request, ToolResult
from paca.engine.llm.openai.encoder import IMAGES_OF_RESULTS
from paca.engine.llm.openai.encoder import Encoder as OpenAIEncoder
from paca.engine.llm.openai.server_form import form_for
from paca.engine.llm.providers import Provider
from paca.engine.tool_results import returned
from paca.engine.tools.base import ToolImage, ToolOutput

PNG = b"\x89PNG\r\n\x1a\ndata"


def history() -> History:
    output = ToolOutput("[image 1: PNG, 12 bytes]", images=(ToolImage("image/png", PNG),))
    happened = [
        events.MessageReceived(text="Look"),
        events.ToolCalled(call_id="a" * 32, tool="mcp__web__picture", arguments={}),
        events.ToolStarted(call_id="a" * 32),
        returned("a" * 32, output, seconds=0, full_output_bytes=0),
    ]
    found = History()
    for seq, event in enumerate(happened, 1):
        found = advance(found, event, seq)
    return found


def encoded(model: str) -> str:
    request = Request(model=model, system="", messages=history().messages())
    return Encoder().encode(request).decode()


@pytest.mark.parametrize(
    "model",
    ["anthropic/claude-sonnet-4-5", "vertex_ai/claude-opus-4", "bedrock/eu.anthropic.claude-x"],
)
def test_a_model_that_can_see_gets_the_image(model):
    (result,) = json.loads(encoded(model))["messages"][-1]["content"]
    text, image = result["content"]
    assert "[image 1: PNG" in text["text"]
    assert image["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": "iVBORw0KGgpkYXRh",
    }


def test_another_model_of_the_same_dialect_gets_the_text_alone():
    assert "iVBOR" not in encoded("anthropic/glm-4.6")
    assert "[image 1: PNG" in encoded("anthropic/glm-4.6")


def of_openai(name: str, messages=()) -> list[dict]:
    provider, _, model = name.partition("/")
    encoder = OpenAIEncoder(Provider(provider), model, own_address=False, family="x")
    request = Request(model=name, system="", messages=(*history().messages(), *messages))
    form = form_for(Provider(provider), model, "http://model.example/v1")
    return json.loads(encoder.encode(request, form))["messages"]


@pytest.mark.parametrize("name", ["openai/gpt-4o", "hosted_vllm/Qwen/Qwen2.5-VL-7B-Instruct"])
def test_a_model_that_can_see_gets_the_images_after_the_results_in_openais_dialect(name):
    result, shown = of_openai(name)[-2:]
    assert (result["role"], shown["role"]) == ("tool", "user")
    assert "[image 1: PNG" in result["content"]
    words, image = shown["content"]
    assert words == {"type": "text", "text": IMAGES_OF_RESULTS}
    assert image["image_url"]["url"] == "data:image/png;base64,iVBORw0KGgpkYXRh"


def test_another_model_of_openais_dialect_gets_the_text_alone():
    for name in ("openai/gpt-4", "deepseek/deepseek-chat", "hosted_vllm/llama-3.1-8b"):
        assert "iVBOR" not in json.dumps(of_openai(name))


def test_models_that_see_are_told_by_the_list_else_by_their_names():
    seeing = ["gemini/gemini-2.5-pro", "ollama/llava:13b", "openrouter/anthropic/claude-sonnet-4"]
    blind = ["mistral/codestral-latest", "ollama/llama3.1", "hosted_vllm/qwen3-coder", "x/avlos"]
    told = [seen_images.can_see(*name.split("/", 1)) for name in (*seeing, *blind)]
    assert told == [True] * len(seeing) + [False] * len(blind)


def test_an_image_counts_for_the_window_and_goes_with_its_result():
    messages = history().messages()
    assert measuring.size_of(messages).results > 6_000
    left = trimming.leave_out(messages, 1)
    results = [b for m in left for b in m.blocks if isinstance(b, ToolResult)]
    assert not results[0].images
