"""The registry of adapters, which loads libraries lazily, and the check of a model's connection."""

import asyncio
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from paca.engine.llm import connection_check, http_pool, registry
from paca.engine.llm.anthropic.client import AnthropicLLM
from paca.engine.llm.demo import scripted_model
from paca.engine.llm.http_pool import close_connections
from paca.engine.llm.model_errors import ModelMisconfigured
from tests.engine.llm.request_builders import reply_of, request_with
from tests.support import openai_dialect
from tests.support.model_script import Raw, fails, says

OPENAI = "openai/gpt-test"
LAZY = ("anthropic", "openai", "litellm", "mcp", "httpx2", "django")


def test_registry_loads_no_library_when_it_opens_an_adapter():
    program = (
        "import sys\n"
        "from paca.engine.llm import anthropic, demo, prices, registry, retrying\n"
        "from paca.engine.llm.anthropic import client\n"
        "from paca.engine.llm.demo import scripted_model\n"
        "registry.open_llm('anthropic/claude-opus-5-5', api_key='k')\n"
        "registry.known_models()\n"
        f"print(*[name for name in {LAZY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_registry_opens_the_adapter_of_a_provider_and_model():
    assert isinstance(registry.open_llm("demo/guide"), scripted_model.DemoLLM)
    assert isinstance(registry.open_llm("anthropic/claude-x", api_key="k"), AnthropicLLM)


@pytest.mark.parametrize(
    "model", ["", "/", "claude-opus-5-5", "anthropic/", "nobody/model", "/claude"]
)
def test_registry_refuses_an_unknown_model_name_with_a_sentence(model):
    with pytest.raises(ModelMisconfigured, match="provider/model") as caught:
        registry.open_llm(model, api_key="k")
    assert "anthropic" in caught.value.detail


def test_registry_refuses_an_unknown_demo_and_a_missing_key():
    with pytest.raises(ModelMisconfigured, match="demo/guide"):
        registry.open_llm("demo/other")
    with pytest.raises(ModelMisconfigured, match="API key"):
        registry.open_llm("anthropic/claude-opus-5-5")


def test_known_models_can_be_opened_and_have_labels():
    known = registry.known_models()
    assert known[0].name == scripted_model.MODEL
    for model in known:
        registry.open_llm(model.name, api_key="k" if model.needs_key else "")
    labels = {model.name: model.label for model in known}
    assert labels["anthropic/claude-opus-5-5"] == "Claude Opus 5.5"
    assert labels["anthropic/claude-sonnet-4-5-20250929"] == "Claude Sonnet 4.5 (20250929)"
    assert len(set(labels.values())) == len(known)


@pytest.mark.anyio
async def test_http_pool_is_shared_by_the_runs_of_an_event_loop(server):
    for _ in range(3):
        llm = registry.open_llm("anthropic/claude-test", base_url=server.base_url, api_key="k")
        await reply_of(llm, request_with("Hi"))
    assert server.connections == 1
    await close_connections()
    await close_connections()
    assert asyncio.get_running_loop() not in http_pool._pools


async def tried(server, reply=None, **changes):
    if reply is not None:
        server.script([reply])
    given = {"base_url": server.base_url, "api_key": "k", **changes}
    return await connection_check.check_connection("anthropic/claude-test", **given)


@pytest.mark.anyio
async def test_connection_check_reports_a_working_model_and_its_time(server):
    began = time.monotonic()
    result = await tried(server, says("ready"), parameters={"temperature": 0.5})
    waited = time.monotonic() - began
    assert (result.works, result.code) == (True, "")
    assert "claude-test answered in" in result.detail
    assert 0 < result.seconds <= waited
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
async def test_connection_check_names_the_cause_of_a_failure(server, kind):
    result = await tried(server, fails(kind))
    code, word = CAUSES[kind]
    assert (result.works, result.code) == (False, code)
    assert word in result.detail


@pytest.mark.anyio
async def test_connection_check_names_a_wrong_setting_before_any_call(server):
    assert "refused" in (await tried(server, base_url="http://127.0.0.1:9")).detail
    assert "Messages API" in (await tried(server, base_url=f"{server.base_url}/x")).detail
    assert "API key" in (await tried(server, api_key="")).detail


@pytest.mark.anyio
async def test_connection_check_succeeds_for_the_demo():
    result = await connection_check.check_connection("demo/guide")
    assert result.works


def test_connection_check_runs_in_an_event_loop_of_its_own(server):
    """As in a page: the event loop ends at once, and no connection stays open."""
    assert asyncio.run(tried(server, says("ready"))).works
    assert server.wait_until_idle()


# --- over OpenAI's dialect -------------------------------------------------------------------------


async def tried_elsewhere(server, reply=None, model=OPENAI, **changes):
    if reply is not None:
        server.script([reply])
    given = {"base_url": f"{server.base_url}/v1", "api_key": "k", **changes}
    return await connection_check.check_connection(model, **given)


@pytest.mark.anyio
async def test_connection_check_lists_the_models_of_the_server(server):
    result = await tried_elsewhere(server, says("ready"), parameters={"temperature": 0.5})
    assert (result.works, result.models) == (True, ("gpt-test", "other-test"))
    assert "gpt-test answered in" in result.detail
    (request,) = server.requests
    assert (request.body["max_tokens"], request.body["temperature"]) == (64, 0.5)


@pytest.mark.anyio
async def test_connection_check_names_the_served_models_for_an_unknown_one(server):
    result = await tried_elsewhere(server, fails("404"), model="openai/gpt-tset")
    assert (result.works, result.code) == (False, "model_misconfigured")
    assert "serves gpt-test, other-test" in result.detail


@pytest.mark.anyio
async def test_connection_check_reports_a_wrong_key_without_showing_it(server):
    server.wants_key = "another"
    result = await tried_elsewhere(server, fails("echokey"), api_key="sk-very-secret-1")
    assert (result.works, result.code, result.models) == (False, "key_refused", ())
    assert "sk-very-secret-1" not in str(result)


@pytest.mark.anyio
async def test_connection_check_masks_the_key_in_the_list_of_models(server):
    server.served = ["m-sk-very-secret-1"]
    result = await tried_elsewhere(server, fails("404"), api_key="sk-very-secret-1")
    assert result.models == ("m-***",)
    assert "sk-very-secret-1" not in str(result)


@pytest.mark.anyio
async def test_connection_check_finds_an_unsupported_parameter(server):
    result = await tried_elsewhere(server, fails("badrequest"), parameters={"temperature": 0.5})
    assert (result.works, result.code) == (False, "request_refused")
    assert "temperature" in result.detail


@pytest.mark.anyio
async def test_connection_check_reports_an_unreachable_address(server):
    tls = f"{server.base_url.replace('http:', 'https:')}/v1"
    causes = {"http://127.0.0.1:9/v1": "refused", tls: "TLS", "http://nowhere.invalid/v1": "DNS"}
    for address, word in causes.items():
        result = await tried_elsewhere(server, base_url=address)
        assert not result.works
        assert word in result.detail
    assert "API key" in (await tried_elsewhere(server, base_url="", api_key="")).detail
    assert (
        "base URL" in (await tried_elsewhere(server, model="litellm_proxy/x", base_url="")).detail
    )


@pytest.mark.anyio
async def test_connection_check_needs_no_list_of_models(server):
    server.served = None
    assert (await tried_elsewhere(server, says("ready"))).works


@pytest.mark.anyio
async def test_connection_check_reports_an_address_without_the_service(server):
    server.served = None
    result = await tried_elsewhere(server, base_url=f"{server.base_url}/elsewhere")
    assert (result.works, result.models) == (False, ())
    assert "/v1 at its end" in result.detail


@pytest.mark.anyio
async def test_connection_check_stops_reading_an_endless_list_of_models():
    sent = 0
    hung_up = asyncio.Event()

    async def endless(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        with suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b" " * 65_536)
                await writer.drain()
                sent += 65_536
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        hung_up.set()

    server = await asyncio.start_server(endless, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    assert await connection_check.served_models(f"http://127.0.0.1:{port}/v1", "") == ()
    assert 0 < sent < 8 * connection_check.MAX_LIST_BYTES
    server.close()
    await asyncio.wait_for(hung_up.wait(), 5)


def test_registry_requires_a_key_except_for_local_servers():
    for address in ("http://127.0.0.1:11434/v1", "http://vllm:8000/v1", "http://10.0.0.7/v1"):
        registry.open_llm(OPENAI, base_url=address)
    registry.open_llm("ollama/qwen3")
    for address in ("https://api.example.org/v1", "http://93.184.216.34/v1", ""):
        with pytest.raises(ModelMisconfigured, match="API key"):
            registry.open_llm(OPENAI, base_url=address)


@pytest.mark.anyio
async def test_provider_address_of_ollama_gets_v1_if_it_is_missing(server):
    llm = registry.open_llm("ollama/qwen3", base_url=server.base_url)
    await reply_of(llm, request_with("Hi"))
    await close_connections()
    (request,) = server.requests
    assert (request.path, request.body["model"]) == ("/v1/chat/completions", "qwen3")


@pytest.mark.parametrize("model", ["sagemaker/m", "oci/m", "vertex_ai_beta/gemini"])
def test_registry_refuses_providers_that_would_use_this_servers_credentials(model):
    with pytest.raises(ModelMisconfigured, match=r"Use .*(vertex_ai|gateway)"):
        registry.open_llm(model, api_key="k")


@pytest.mark.anyio
async def test_connection_check_asks_with_a_tool_and_names_the_switch_if_it_is_refused(server):
    words = "registry.ollama.ai/library/gemma:2b does not support tools"
    refusal = openai_dialect.error_body("api_error", words)
    result = await tried_elsewhere(server, Raw(refusal, status=400))
    assert (result.works, result.code) == (False, "tools_unsupported")
    assert "Tool calls as text" in result.detail
    assert words in result.detail
    assert len(server.requests[0].body["tools"]) == 1
    assert (await tried_elsewhere(server, says("ready"), text_tool_calls=True)).works
    assert "tools" not in server.requests[-1].body


@pytest.mark.anyio
async def test_connection_check_names_http_behind_an_address_with_https():
    """The server waits for a line that never ends, as many do, and never answers a TLS handshake."""

    async def patient(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HEAD")
            writer.write(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(patient, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    address = f"https://127.0.0.1:{port}/v1"
    result = await connection_check.check_connection(OPENAI, base_url=address, api_key="k")
    assert (result.works, result.code) == (False, "model_misconfigured")
    assert "speaks http and not https" in result.detail
    server.close()


@pytest.mark.anyio
async def test_connection_check_names_an_unresolved_host_before_a_missing_key():
    address = "https://no-such-host.invalid/v1"
    result = await connection_check.check_connection(OPENAI, base_url=address)
    assert "cannot be resolved" in result.detail


@pytest.mark.parametrize(
    ("models", "imported"),
    [(["anthropic/claude-x"], "True"), (["openai/gpt"], "True"), (["demo/guide"], "False")],
)
def test_registry_imports_the_http_library_in_advance_only_for_models_that_use_it(models, imported):
    program = (
        "import asyncio, sys\n"
        "from paca.engine.llm import registry\n"
        f"asyncio.run(registry.warm({models!r}))\n"
        "print('httpx2' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == imported
