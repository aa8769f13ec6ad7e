"""Clouds and dialects of their own, over real HTTP: their addresses, and the agent's credentials and no other."""

import base64
import json
import socket
from dataclasses import replace
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from paca.engine.llm import call_recording, connection_check, registry
from paca.engine.llm.base import Text, ToolResult, ToolUse
from paca.engine.llm.http_pool import new_pool
from paca.engine.llm.model_errors import (
    KeyRefused,
    ModelMisconfigured,
    RequestRefused,
    StreamBroken,
    ToolsUnsupported,
)
from tests.engine.llm.conftest import PATIENT
from tests.engine.llm.request_builders import (
    BASH,
    assistant_message,
    chunks_of,
    reply_of,
    request_with,
    tool_steps,
    user_message,
)
from tests.support import bedrock_dialect, cohere_dialect
from tests.support.json_server import JsonServer
from tests.support.model_script import Raw, calls, says, thinks

pytestmark = pytest.mark.anyio
KEY = "sk-own-secret-key"
PLANTED = "planted-secret-of-the-server"
BEDROCK = "bedrock/us.anthropic.claude-test-v1:0"
TOKEN = {"access_token": KEY, "project_id": "own-project"}
# Model, key, and the parts of the path and the headers that the request must have.
FAMILIES = {
    "azure": ("azure/gpt-test", KEY, "/openai/deployments/gpt-test/chat/completions?api-version=2024-10-21", "api-key"),
    "azure version": ("azure/gpt-test", json.dumps({"api_key": KEY, "api_version": "2025-01-01"}), "api-version=2025-01-01", "api-key"),
    "azure_ai": ("azure_ai/phi-test", KEY, "/models/chat/completions?api-version=2024-05-01-preview", "api-key"),
    "azure_ai claude": ("azure_ai/claude-test", KEY, "/anthropic/v1/messages", "x-api-key"),
    "bedrock": (BEDROCK, KEY, "/model/us.anthropic.claude-test-v1%3A0/converse-stream", "authorization"),
    "cohere": ("cohere_chat/command-test", KEY, "/v2/chat", "authorization"),
    "vertex": ("vertex_ai/gemini-test", json.dumps(TOKEN), "/v1/projects/own-project/locations/global/endpoints/openapi/chat/completions", "authorization"),
    "vertex claude": ("vertex_ai/claude-test", json.dumps({**TOKEN, "location": "us-east5"}), "/locations/us-east5/publishers/anthropic/models/claude-test:streamRawPredict", "authorization"),
    "watsonx": ("watsonx/ibm/granite", json.dumps(TOKEN), "/ml/v1/text/chat_stream?version=2025-02-11", "authorization"),
}  # fmt: skip
VARIABLES = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_REGION",
    "AWS_PROFILE",
    "AWS_REGION_NAME",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN",
    "AZURE_API_KEY",
    "AZURE_AD_TOKEN",
    "AZURE_CLIENT_SECRET",
    "AZURE_TENANT_ID",
    "AZURE_OPENAI_API_KEY",
    "AZURE_AI_API_KEY",
    "AZURE_API_VERSION",
    "COHERE_API_KEY",
    "CO_API_KEY",
    "REPLICATE_API_KEY",
    "REPLICATE_API_TOKEN",
    "VERTEXAI_PROJECT",
    "VERTEXAI_LOCATION",
    "VERTEXAI_CREDENTIALS",
    "VERTEX_PROJECT",
    "GOOGLE_CLOUD_PROJECT",
    "WATSONX_API_KEY",
    "WATSONX_APIKEY",
    "WATSONX_TOKEN",
    "WATSONX_ZENAPIKEY",
    "WATSONX_PROJECT_ID",
    "WATSONX_SPACE_ID",
    "WX_API_KEY",
    "PROJECT_ID",
    "SPACE_ID",
    "REGION",
    "OPENAI_API_KEY",
    "OPENAI_ORGANIZATION",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
]
ADDRESSES = [
    "AWS_BEDROCK_RUNTIME_ENDPOINT",
    "AWS_ENDPOINT_URL",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "GCE_METADATA_HOST",
    "AZURE_API_BASE",
    "AZURE_AI_API_BASE",
    "AZURE_AUTHORITY_HOST",
    "COHERE_API_BASE",
    "REPLICATE_API_BASE",
    "VERTEXAI_API_BASE",
    "WATSONX_API_BASE",
    "WATSONX_URL",
    "WATSONX_IAM_URL",
    "WX_URL",
    "ANTHROPIC_BASE_URL",
    "OPENAI_BASE_URL",
]


@pytest.fixture
async def http():
    async with new_pool() as pool:
        yield pool


@pytest.fixture
def opened(server, http):
    """Opens an adapter for the scripted server."""

    def open_(model, key=KEY, base_url=None):
        address = server.base_url if base_url is None else base_url
        return registry.open_llm(model, base_url=address, api_key=key, limits=PATIENT, http=http)

    return open_


def watch_names(monkeypatch):
    """The hosts that are looked up from now on, in vain. Addresses of this machine are none."""
    hosts, resolve = [], socket.getaddrinfo

    def getaddrinfo(host, *more, **options):
        if host != "127.0.0.1":
            hosts.append(host)
            raise socket.gaierror("no names in this test")
        return resolve(host, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return hosts


@pytest.fixture
def planted(monkeypatch, tmp_path):
    """Credentials of this server in all places where libraries look; gives the server that must hear nothing."""
    with JsonServer(lambda asked: (200, {"access_token": PLANTED})) as trap:
        for name in VARIABLES:
            monkeypatch.setenv(name, PLANTED)
        for name in ADDRESSES:
            monkeypatch.setenv(name, trap.base_url)
        (tmp_path / ".aws").mkdir()
        (tmp_path / ".aws" / "credentials").write_text(
            f"[default]\naws_access_key_id = {PLANTED}\naws_secret_access_key = {PLANTED}\n"
        )
        (tmp_path / ".aws" / "config").write_text("[default]\nregion = eu-west-1\n")
        account = tmp_path / "account.json"
        account.write_text(json.dumps({"project_id": PLANTED, "token_uri": trap.base_url}))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(account))
        monkeypatch.setenv("HOME", str(tmp_path))
        looked_up = watch_names(monkeypatch)
        yield trap
        assert looked_up == []


@pytest.mark.parametrize("family", FAMILIES)
async def test_cloud_gets_the_agents_credentials_and_none_of_this_server(
    server, opened, planted, family
):
    model, key, path, header = FAMILIES[family]
    server.script([says("Hello.")])
    assert (await reply_of(opened(model, key), request_with("Hi"))).text == "Hello."
    (sent,) = server.requests
    assert path in sent.path
    assert KEY in sent.headers[header]
    assert PLANTED not in f"{sent.path} {sent.headers} {sent.raw!r}"
    assert planted.asked == []
    assert server.violations == []


@pytest.mark.parametrize(
    ("model", "key", "base_url", "named"),
    [
        (BEDROCK, KEY, "", "region"),
        (BEDROCK, '{"region": "us-east-1"}', "", "access_key_id and secret_access_key"),
        (BEDROCK, '{"api_key": "k", "region": "x.example.org/"}', "", "no region"),
        ("vertex_ai/gemini-test", KEY, "", "project_id"),
        ("vertex_ai/gemini-test", '{"project_id": "p"}', "", "private_key"),
        ("vertex_ai/claude-test", '{"project_id": "p", "location": "x.example.org/"}', "", "no location"),
        ("watsonx/ibm/granite", KEY, "https://us-south.ml.cloud.ibm.com", "project_id"),
        ("watsonx/ibm/granite", '{"project_id": "p"}', "https://us-south.ml.cloud.ibm.com", "api_key"),
        ("azure/gpt", '{"api_version": "1"}', "https://x.openai.azure.com", "api_key"),
        ("azure/gpt", "{broken", "https://x.openai.azure.com", "no valid JSON"),
    ],
)  # fmt: skip
async def test_cloud_names_the_part_of_the_key_that_is_missing_and_sends_nothing(
    server, opened, planted, model, key, base_url, named
):
    with pytest.raises(ModelMisconfigured, match=named):
        await chunks_of(opened(model, key, base_url), request_with("Hi"))
    assert planted.asked == []


@pytest.mark.parametrize("provider", ["azure", "azure_ai", "watsonx"])
def test_cloud_without_an_address_of_its_own_needs_a_base_url(provider):
    with pytest.raises(ModelMisconfigured, match=rf"{provider} needs a base URL, such as https://"):
        registry.open_llm(f"{provider}/m", api_key=KEY)


async def test_azure_serves_also_at_the_path_of_version_1(server, opened):
    address = f"{server.base_url}/openai/v1"
    await reply_of(opened("azure/gpt", base_url=address), request_with("Hi"))
    assert server.requests[0].path == "/openai/v1/chat/completions"
    assert server.requests[0].headers["api-key"] == KEY


async def test_vertex_takes_a_budget_of_reasoning_for_gemini(server, opened):
    llm = opened("vertex_ai/gemini-test", json.dumps(TOKEN))
    await reply_of(llm, request_with("Hi", parameters={"thinking_budget": 512}))
    google = server.requests[0].body["extra_body"]["google"]
    assert google == {"thinking_config": {"thinking_budget": 512}}


# --- tokens -------------------------------------------------------------------------------------


async def test_watsonx_key_goes_to_the_token_service_alone_and_the_token_to_the_model(
    server, opened
):
    with JsonServer(lambda asked: (200, {"access_token": "tok-12345", "expires_in": 3600})) as iam:
        key = json.dumps({"api_key": "ibm-own-key-1", "project_id": "p", "iam_url": iam.base_url})
        llm = opened("watsonx/ibm/granite", key)
        for _ in range(2):
            await reply_of(llm, request_with("Hi"))
    (asked,) = iam.asked  # the second call has the token already
    assert parse_qs(asked.body)["apikey"] == ["ibm-own-key-1"]
    sent = server.requests[-1]
    assert sent.headers["authorization"] == "Bearer tok-12345"
    assert "ibm-own-key-1" not in f"{sent.headers} {sent.raw!r}"
    assert server.violations == []


async def test_exchange_of_a_key_for_a_token_is_not_traced(server, opened):
    with JsonServer(lambda asked: (200, {"access_token": "tok-12345", "expires_in": 3600})) as iam:
        key = json.dumps({"api_key": "ibm-own-key-3", "project_id": "p", "iam_url": iam.base_url})
        llm = opened("watsonx/ibm/granite", key)
        recording = call_recording.begin()
        try:
            await reply_of(llm, request_with("Hi"))
        finally:
            call_recording.end()
        assert len(iam.asked) == 1
    (exchange,) = recording.exchanges
    assert exchange.body == server.requests[0].raw
    assert "tok-12345" in recording.secrets


async def test_watsonx_key_is_not_sent_to_ibm_for_a_server_that_is_not_ibms(server, opened):
    with pytest.raises(ModelMisconfigured, match="iam_url"):
        await chunks_of(
            opened("watsonx/m", '{"api_key": "k", "project_id": "p"}'), request_with("Hi")
        )
    assert server.requests == []


async def test_refused_token_exchange_is_told_without_the_key(server, opened):
    with JsonServer(lambda asked: (401, {"errorMessage": "x", "message": asked.body})) as iam:
        key = json.dumps({"api_key": "ibm-own-key-2", "project_id": "p", "iam_url": iam.base_url})
        with pytest.raises(KeyRefused) as caught:
            await chunks_of(opened("watsonx/m", key), request_with("Hi"))
    assert "ibm-own-key-2" not in caught.value.detail
    assert server.requests == []


async def test_vertex_exchanges_a_service_account_at_the_address_in_its_key(server, opened):
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    with JsonServer(
        lambda asked: (200, {"access_token": "ya29-own", "expires_in": 3600})
    ) as google:
        account = {"client_email": "a@own.iam", "private_key": pem, "token_uri": google.base_url, "project_id": "own"}  # fmt: skip
        await reply_of(opened("vertex_ai/gemini-test", json.dumps(account)), request_with("Hi"))
    (assertion,) = parse_qs(google.asked[0].body)["assertion"]
    signed, _, signature = assertion.rpartition(".")
    private.public_key().verify(
        base64.urlsafe_b64decode(signature + "=="), signed.encode(), padding.PKCS1v15(), hashes.SHA256()
    )  # fmt: skip
    claims = json.loads(base64.urlsafe_b64decode(signed.split(".")[1] + "=="))
    assert (claims["iss"], claims["aud"]) == ("a@own.iam", google.base_url)
    assert server.requests[0].headers["authorization"] == "Bearer ya29-own"
    assert server.requests[0].body["model"] == "google/gemini-test"


# --- Bedrock and Cohere -------------------------------------------------------------------------


async def test_bedrock_signs_with_the_access_key_of_the_agent(server, opened, planted):
    key = {
        "access_key_id": "AKIAOWN",
        "secret_access_key": "own/secret",
        "session_token": "own-session",
        "region": "eu-central-1",
    }
    await reply_of(opened(BEDROCK, json.dumps(key)), request_with("Hi"))
    (sent,) = server.requests
    assert "Credential=AKIAOWN/" in sent.headers["authorization"]
    assert "/eu-central-1/bedrock/aws4_request" in sent.headers["authorization"]
    assert sent.headers["x-amz-security-token"] == "own-session"
    assert PLANTED not in f"{sent.headers} {sent.raw!r}"
    assert planted.asked == []


async def test_bedrock_gets_signed_thinking_back_with_its_calls(server, opened):
    server.script([thinks("Hm.") + calls(bash="ls"), says("Done.")])
    llm = opened(BEDROCK)
    reply = await reply_of(llm, request_with("Look."))
    result = ToolResult(reply.calls[0].call_id, "out")
    history = (user_message("Look."), assistant_message(*reply.blocks), user_message(result))
    await reply_of(llm, request_with(*history))
    sent = server.requests[-1].body["messages"][1]["content"]
    assert {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "SIG=="}}} in sent
    assert server.violations == []


async def test_bedrock_request_without_calls_has_no_tools_and_calls_as_text(server, opened):
    await reply_of(opened(BEDROCK), request_with(*tool_steps(2), may_call=False))
    body = server.requests[-1].body
    assert "toolConfig" not in body
    assert "toolUse" not in json.dumps(body)
    assert "echo 1" in json.dumps(body)
    assert server.violations == []


async def test_bedrock_model_without_tool_calls_is_named_with_the_switch_that_helps(server, opened):
    with pytest.raises(ToolsUnsupported, match="Tool calls as text"):
        await chunks_of(opened("bedrock/deepseek.r1-v1:0"), request_with("Hi"))
    assert server.requests == []


async def test_cohere_request_without_calls_forbids_them(server, opened):
    await reply_of(opened("cohere_chat/command-test"), request_with(*tool_steps(2), may_call=False))
    assert server.requests[-1].body["tool_choice"] == "NONE"
    assert server.violations == []


async def test_bedrock_frame_with_a_wrong_checksum_breaks_the_stream(server, opened):
    whole = bytearray(bedrock_dialect.whole(says("Hello.")))
    whole[len(whole) // 2] ^= 1
    server.script([Raw(bytes(whole))])
    with pytest.raises(StreamBroken):
        await reply_of(opened(BEDROCK), request_with("Hi"))


@pytest.mark.parametrize(
    "reason", ["malformed_tool_use", "malformed_model_output", "something_new", None]
)
async def test_bedrock_call_is_not_run_after_a_reason_that_is_no_proper_end(server, opened, reason):
    content = b"".join(bedrock_dialect.content(calls(bash="ls"), "m", grain=64))
    end = b"" if reason is None else bedrock_dialect.frame("messageStop", {"stopReason": reason})
    server.script([Raw(content + end)])
    with pytest.raises(StreamBroken):
        await reply_of(opened(BEDROCK), request_with("Hi"))


@pytest.mark.parametrize("reason", ["ERROR", "TIMEOUT", "NEW", None])
async def test_cohere_call_is_not_run_after_a_reason_that_is_no_proper_end(server, opened, reason):
    content = b"".join(cohere_dialect.content(calls(bash="ls"), "m", grain=64))
    end = cohere_dialect.frame("message-end", delta={"finish_reason": reason})
    server.script([Raw(content + (end if reason else b""))])
    with pytest.raises(StreamBroken):
        await reply_of(opened("cohere_chat/m"), request_with("Hi"))


async def test_cut_arguments_before_a_proper_end_are_a_problem_of_their_call(server, opened):
    start = {"toolUse": {"toolUseId": "t", "name": "bash"}}
    piece = {"toolUse": {"input": '{"command": "rm -r'}}
    frames = [
        bedrock_dialect.frame("contentBlockStart", {"start": start, "contentBlockIndex": 0}),
        bedrock_dialect.frame("contentBlockDelta", {"delta": piece, "contentBlockIndex": 0}),
        bedrock_dialect.closing(calls(bash="ls")),
    ]
    server.script([Raw(b"".join(frames))])
    (call,) = (await reply_of(opened(BEDROCK), request_with("Hi"))).calls
    assert (call.arguments, bool(call.problem)) == ({}, True)


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (BEDROCK, b"".join(bedrock_dialect.content(says("Hello."), "m", grain=9))
         + bedrock_dialect.frame("messageStop", {"stopReason": "end_turn"})),
        ("cohere_chat/m", b"".join(cohere_dialect.content(says("Hello."), "m", grain=9))
         + cohere_dialect.frame("message-end", delta={"finish_reason": "COMPLETE"})),
    ],
)  # fmt: skip
async def test_usage_that_is_not_reported_is_marked_as_estimated(server, opened, model, body):
    server.script([Raw(body)])
    usage = (await reply_of(opened(model), request_with("Hi"))).usage
    assert usage.estimated
    assert usage.input > 0


async def test_usage_of_bedrock_counts_tokens_of_the_cache_apart(server, opened):
    server.script([says("Hello.")])
    usage = (await reply_of(opened(BEDROCK), request_with("Hi"))).usage
    assert (usage.input, usage.cache_read, usage.output, usage.estimated) == (100, 20, 7, False)


@pytest.mark.parametrize(
    ("model", "parameters", "named"),
    [
        ("bedrock/amazon.nova-pro-v1:0", {"effort": "high"}, "effort"),
        ("bedrock/some.new-model", {"top_k": 5}, "top_k"),
        ("cohere_chat/command-test", {"effort": "high"}, "effort"),
        (BEDROCK, {"color": "red"}, "color"),
        ("azure/gpt-test", {"thinking_budget": 512}, "effort"),
    ],
)
async def test_parameter_that_a_model_does_not_take_is_refused_and_not_dropped(
    server, opened, model, parameters, named
):
    with pytest.raises(ModelMisconfigured, match=named):
        await chunks_of(opened(model), request_with("Hi", parameters=parameters))
    assert server.requests == []


async def test_connection_check_works_for_a_cloud_and_names_the_cause_of_a_failure(server):
    found = await connection_check.check_connection(BEDROCK, base_url=server.base_url, api_key=KEY)
    assert found.works, found.detail
    failed = await connection_check.check_connection(
        "vertex_ai/gemini-test", base_url=server.base_url, api_key=KEY
    )
    assert not failed.works
    assert "project_id" in failed.detail


# --- Replicate ----------------------------------------------------------------------------------


class Prediction:
    """A scripted prediction of Replicate: each poll gives the next of its states."""

    def __init__(self, *states, **more):
        self.states, self.more, self.cancelled = list(states), more, False

    def __call__(self, asked):
        if asked.path.endswith("/cancel"):
            self.cancelled = True
            return 200, {}
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        elsewhere = {"get": "http://127.0.0.1:9/stolen", "stream": "http://127.0.0.1:9/stolen"}
        return 201, {"id": "pred1", "urls": elsewhere, **self.more, **state}


WORKING, GROWING = {"status": "starting"}, {"status": "processing", "output": ["Hel"]}
DONE = {"status": "succeeded", "output": ["Hel", "lo."], "metrics": {"input_token_count": 9, "output_token_count": 3}}  # fmt: skip


@pytest.fixture
def fast_polls(monkeypatch):
    monkeypatch.setattr("paca.engine.llm.litellm.replicate.POLL_SECONDS", 0.001)


@pytest.mark.usefixtures("fast_polls")
async def test_replicate_answer_is_streamed_from_the_polls_of_its_prediction(opened, planted):
    with JsonServer(Prediction(WORKING, GROWING, DONE)) as replicate:
        llm = opened("replicate/meta/llama-test", base_url=replicate.base_url)
        reply = await reply_of(llm, request_with("Hi", tools=()))
    given = json.loads(replicate.asked[0].body)["input"]
    assert (given["prompt"], given["system_prompt"]) == ("Hi", "Be brief.")
    assert (reply.blocks, reply.usage.input, reply.usage.output) == ((Text("Hello."),), 9, 3)
    begun, *polls = replicate.asked
    assert begun.path == "/v1/models/meta/llama-test/predictions"
    assert begun.headers["cancel-after"] == f"{PATIENT.total}s"  # also if the worker dies
    # The key goes to the address that it was given for, whatever the answer names.
    assert {poll.path for poll in polls} == {"/v1/predictions/pred1"}
    assert all(KEY in asked.headers["authorization"] for asked in replicate.asked)
    assert PLANTED not in str(replicate.asked)
    assert planted.asked == []


@pytest.mark.usefixtures("fast_polls")
@pytest.mark.parametrize(
    ("states", "error"),
    [
        ([{"status": "failed", "error": "invalid input: prompt"}], RequestRefused),
        ([GROWING, {"status": "canceled", "output": ["Hel"]}], StreamBroken),
        ([{"status": "processing", "output": "abc"}, {"status": "succeeded", "output": "x"}], StreamBroken),
        ([{"status": "starting", "id": "../account"}], StreamBroken),
    ],
)  # fmt: skip
async def test_replicate_prediction_that_does_not_succeed_is_no_answer(opened, states, error):
    with JsonServer(Prediction(*states)) as replicate:
        llm = opened("replicate/meta/llama-test", base_url=replicate.base_url)
        with pytest.raises(error):
            await reply_of(llm, request_with("Hi", tools=()))
    assert not any("account" in asked.path for asked in replicate.asked)


async def test_replicate_prediction_is_cancelled_with_its_call(opened):
    prediction = Prediction(GROWING)
    with JsonServer(prediction) as replicate:
        llm = opened("replicate/meta/llama-test", base_url=replicate.base_url)
        stream = llm.stream(request_with("Hi", tools=()))
        async for chunk in stream:
            if getattr(chunk, "text", "") == "Hel":
                break
        await stream.aclose()
        assert prediction.cancelled


@pytest.mark.usefixtures("fast_polls")
async def test_replicate_prediction_that_is_silent_for_too_long_is_cancelled(http):
    prediction = Prediction(GROWING)
    limits = replace(PATIENT, gap=0.05)
    with JsonServer(prediction) as replicate:
        llm = registry.open_llm("replicate/meta/m", base_url=replicate.base_url, api_key=KEY, limits=limits, http=http)  # fmt: skip
        with pytest.raises(StreamBroken, match="nothing came for"):
            await reply_of(llm, request_with("Hi", tools=()))
    assert prediction.cancelled


async def test_replicate_has_no_tool_calls_and_names_the_setting_for_it(opened):
    with pytest.raises(RequestRefused, match="Tool calls as text"):
        await chunks_of(opened("replicate/meta/m"), request_with("Hi", tools=(BASH,)))


async def test_replicate_history_keeps_calls_as_text(opened, fast_polls):
    use = ToolUse("c1", "bash", {"command": "echo 7"})
    history = (user_message("Hi"), assistant_message(use), user_message(ToolResult("c1", "7")))
    with JsonServer(Prediction(DONE)) as replicate:
        llm = opened("replicate/meta/llama-test", base_url=replicate.base_url)
        await reply_of(llm, request_with(*history, tools=()))
    assert "echo 7" in json.loads(replicate.asked[0].body)["input"]["prompt"]
