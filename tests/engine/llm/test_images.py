"""Images in results reach a model that can see; others get the line that names them."""

from __future__ import annotations

import json

import pytest

from paca import events
from paca.engine.context import measuring, trimming
from paca.engine.context.history import History, advance
from paca.engine.llm.anthropic.encoder import Encoder
from paca.engine.llm.base import Request, ToolResult
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


def test_an_image_counts_for_the_window_and_goes_with_its_result():
    messages = history().messages()
    assert measuring.size_of(messages).results > 6_000
    left = trimming.leave_out(messages, 1)
    results = [b for m in left for b in m.blocks if isinstance(b, ToolResult)]
    assert not results[0].images
