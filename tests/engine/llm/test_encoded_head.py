"""The encoders keep the head of a request, whose tools are its longest part, from call to call."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from paca.engine.llm import providers
from paca.engine.llm.anthropic.encoder import Encoder as AnthropicEncoder
from paca.engine.llm.base import Request
from paca.engine.llm.openai import server_form
from paca.engine.llm.openai.encoder import Encoder as OpenAIEncoder
from paca.engine.tools.registry import Toolbox, workspace_tools
from tests.engine.llm.request_builders import request_with

TOOLS = Toolbox(workspace_tools()).specs()
CHANGES = (
    {"may_call": False},
    {"system": "Another prompt."},
    {"parameters": {"temperature": 0.5}},
    {"max_tokens": 5},
    {"tools": TOOLS[:1]},
    {"model": "other/model"},
)


def _anthropic() -> Callable[[Request], bytes]:
    return AnthropicEncoder().encode


def _openai() -> Callable[[Request], bytes]:
    provider = providers.find("openai")
    assert provider is not None
    encoder = OpenAIEncoder(provider, "gpt-test", own_address=False, family="openai")
    form = server_form.form_for(provider, "gpt-test", provider.address(""))
    return lambda request: encoder.encode(request, form)


@pytest.mark.parametrize("new_encoder", [_anthropic, _openai])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_encoder_writes_a_changed_head_as_a_new_encoder_does(new_encoder, change):
    request = replace(request_with("Hi"), system="A prompt.", tools=TOOLS)
    encode = new_encoder()
    for each in (request, request, replace(request, **change), request):
        assert encode(each) == new_encoder()(each)
