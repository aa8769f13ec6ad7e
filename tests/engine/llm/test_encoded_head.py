"""The encoders keep the head of a request, whose tools are its longest part, from call to call."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from paca.engine.llm import encoded_tools, providers
from paca.engine.llm.anthropic import encoder as anthropic_encoder
from paca.engine.llm.base import Request
from paca.engine.llm.encoded_tools import ToolsEncoder
from paca.engine.llm.openai import encoder as openai_encoder
from paca.engine.llm.openai import server_form
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
    anthropic_encoder.TOOLS._kept = ()
    return anthropic_encoder.Encoder().encode


def _openai() -> Callable[[Request], bytes]:
    provider = providers.find("openai")
    assert provider is not None
    openai_encoder.TOOLS._kept = ()
    encoder = openai_encoder.Encoder(provider, "gpt-test", own_address=False, family="openai")
    form = server_form.form_for(provider, "gpt-test", provider.address(""))
    return lambda request: encoder.encode(request, form)


@pytest.mark.parametrize("new_encoder", [_anthropic, _openai])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_encoder_writes_a_changed_head_as_a_new_encoder_does(new_encoder, change):
    request = replace(request_with("Hi"), system="A prompt.", tools=TOOLS)
    encode = new_encoder()
    for each in (request, request, replace(request, **change), request):
        assert encode(each) == new_encoder()(each)


def test_tools_are_encoded_once_for_all_runs_and_few_are_kept():
    asked = []

    def describe(tools):
        asked.append(len(tools))
        return [{"name": tool.name} for tool in tools]

    tools = ToolsEncoder(describe)
    equal = tuple(replace(tool) for tool in TOOLS)
    assert tools.encode(TOOLS) == tools.encode(equal) == tools.encode(TOOLS)
    assert len(asked) == 1
    for length in range(1, 2 * encoded_tools.MAX_KEPT):
        tools.encode(tuple(replace(TOOLS[0], name=str(length)) for _ in range(length)))
    assert len(tools._kept) == encoded_tools.MAX_KEPT
