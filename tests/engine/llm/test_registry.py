"""From a model's name to its adapter, lazily, and the try that names what is wrong."""

import asyncio
import subprocess
import sys

import pytest

from paca.engine.llm import connections, demo, registry
from paca.engine.llm.anthropic_client import AnthropicLLM
from paca.engine.llm.base import ModelMisconfigured
from paca.engine.llm.connections import close_connections
from tests.engine.llm.asking import asks, reply_of
from tests.support.model_script import fails, says

LAZY = ("anthropic", "openai", "litellm", "mcp", "httpx2", "django")


def test_importing_and_opening_loads_no_sdk():
    program = (
        "import sys\n"
        "from paca.engine.llm import anthropic_client, demo, prices, registry, retrying\n"
        "registry.open_llm('anthropic/claude-opus-5-5', api_key='k')\n"
        "registry.known_models()\n"
        f"print(*[name for name in {LAZY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_a_provider_and_model_open_their_adapter():
    assert isinstance(registry.open_llm("demo/guide"), demo.DemoLLM)
    assert isinstance(registry.open_llm("anthropic/claude-x", api_key="k"), AnthropicLLM)


@pytest.mark.parametrize(
    "model", ["", "/", "claude-opus-5-5", "anthropic/", "nobody/model", "/claude"]
)
def test_a_name_that_no_adapter_answers_to_is_refused_with_a_sentence(model):
    with pytest.raises(ModelMisconfigured, match="provider/model") as caught:
        registry.open_llm(model, api_key="k")
    assert "anthropic" in caught.value.detail


def test_an_unknown_demo_and_a_missing_key_are_refused_with_a_sentence():
    with pytest.raises(ModelMisconfigured, match="demo/guide"):
        registry.open_llm("demo/other")
    with pytest.raises(ModelMisconfigured, match="API key"):
        registry.open_llm("anthropic/claude-opus-5-5")


def test_the_known_models_can_all_be_opened_and_have_names_for_people():
    known = registry.known_models()
    assert known[0].name == demo.MODEL
    for model in known:
        registry.open_llm(model.name, api_key="k" if model.needs_key else "")
    labels = {model.name: model.label for model in known}
    assert labels["anthropic/claude-opus-5-5"] == "Claude Opus 5.5"
    assert labels["anthropic/claude-sonnet-4-5-20250929"] == "Claude Sonnet 4.5 (20250929)"
    assert len(set(labels.values())) == len(known)


@pytest.mark.anyio
async def test_runs_of_one_loop_share_its_connections(server):
    for _ in range(3):
        llm = registry.open_llm("anthropic/claude-test", base_url=server.base_url, api_key="k")
        await reply_of(llm, asks("Hi"))
    assert server.connections == 1
    await close_connections()
    await close_connections()
    assert asyncio.get_running_loop() not in connections._pools


async def tried(server, reply=None, **changes):
    if reply is not None:
        server.script([reply])
    given = {"base_url": server.base_url, "api_key": "k", **changes}
    return await registry.check_connection("anthropic/claude-test", **given)


@pytest.mark.anyio
async def test_a_connection_that_works_says_so_and_how_fast(server):
    result = await tried(server, says("ready"), parameters={"temperature": 0.5})
    assert (result.works, result.code) == (True, "")
    assert "claude-test answered in" in result.detail
    assert 0 < result.seconds < 10
    (request,) = server.requests
    assert (request.body["max_tokens"], request.body["temperature"]) == (64, 0.5)


CAUSES = {
    "401": ("key_refused", "key"),
    "nocredit": ("no_credit", "credit"),
    "404": ("model_misconfigured", "know this model"),
    "html": ("stream_broken", "base URL"),
    "badrequest": ("request_refused", "temperature"),
    "429": ("rate_limited", "rate"),
}


@pytest.mark.anyio
@pytest.mark.parametrize("kind", CAUSES)
async def test_a_connection_that_does_not_work_names_the_cause(server, kind):
    result = await tried(server, fails(kind))
    code, word = CAUSES[kind]
    assert (result.works, result.code) == (False, code)
    assert word in result.detail


@pytest.mark.anyio
async def test_what_is_wrong_before_any_call_is_named_too(server):
    assert "refused" in (await tried(server, base_url="http://127.0.0.1:9")).detail
    assert "Messages API" in (await tried(server, base_url=f"{server.base_url}/x")).detail
    assert "API key" in (await tried(server, api_key="")).detail


@pytest.mark.anyio
async def test_the_demo_is_always_there():
    result = await registry.check_connection("demo/guide")
    assert result.works


def test_a_connection_can_be_tried_from_a_loop_of_its_own(server):
    """As a page does: the loop ends at once, and nothing may stay open."""
    assert asyncio.run(tried(server, says("ready"))).works
    assert server.wait_until_idle()
