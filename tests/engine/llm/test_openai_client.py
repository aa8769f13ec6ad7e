"""The adapter of OpenAI's dialect over real HTTP: the result is a whole reply or a ``ModelError``."""

from contextlib import aclosing
from dataclasses import replace

import pytest

from paca.engine.llm import registry
from paca.engine.llm.base import StopReason, TextDelta, ThinkingDelta, ToolResult, Usage, UsageSeen
from paca.engine.llm.http_pool import close_connections, new_pool
from paca.engine.llm.model_errors import (
    ContextExceeded,
    KeyRefused,
    ModelError,
    ModelMisconfigured,
    NoCredit,
    Overloaded,
    RateLimited,
    RequestRefused,
    StreamBroken,
    TimedOut,
    Unreachable,
)
from tests.engine.llm.conftest import PATIENT, SILENT
from tests.engine.llm.request_builders import (
    BAD_IMAGE,
    assistant_message,
    chunks_of,
    history_with_images,
    reply_of,
    request_with,
    tool_steps,
    user_message,
)
from tests.support import openai_dialect as dialect
from tests.support.memory import kept_bytes_each
from tests.support.model_script import Raw, calls, fails, says, thinks

pytestmark = pytest.mark.anyio


@pytest.fixture
async def llm(server):
    async with new_pool() as http:
        yield opened(server, "openai/gpt-test", http=http)
    await close_connections()


def opened(server, model="openai/gpt-test", **changes):
    how = {
        "base_url": f"{server.base_url}/v1",
        "api_key": "sk-test-key",
        "limits": PATIENT,
        **changes,
    }
    return registry.open_llm(model, **how)


async def test_openai_adapter_streams_an_answer_and_ends_with_the_whole_reply(server, llm):
    server.script([thinks("Easy.") + says("Hello there, how are you?").slowly(tps=500)])
    chunks = await chunks_of(llm, request_with("Hi"))
    pieces = [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)]
    assert len(pieces) > 3
    assert "".join(pieces) == chunks[-1].text == "Hello there, how are you?"
    assert isinstance(chunks[0], UsageSeen)
    assert any(isinstance(chunk, ThinkingDelta) for chunk in chunks)
    assert chunks[-1].usage == Usage(input=100, output=chunks[-1].usage.output)
    assert server.violations == []


async def test_openai_adapter_sends_calls_and_results_back_in_the_servers_form(server, llm):
    server.script([thinks("Hm.") + says("I look.") + calls(bash=["ls", "pwd"]), says("Done.")])
    reply = await reply_of(llm, request_with("Look around."))
    assert (reply.stop, len(reply.calls)) == (StopReason.TOOLS, 2)
    results = user_message(
        ToolResult(reply.calls[0].call_id, "out"),
        ToolResult(reply.calls[1].call_id, "no", True),
        "And?",
    )
    history = (user_message("Look around."), assistant_message(*reply.blocks), results)
    assert (await reply_of(llm, request_with(*history, may_call=False))).text == "Done."
    body = server.requests[-1].body
    assert [message["role"] for message in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]
    assert body["messages"][4]["content"] == "Failed: no"
    assert body["tool_choice"] == "none"
    assert body["tools"][0]["function"]["name"] == "bash"
    assert body["stream_options"] == {"include_usage": True}
    assert server.violations == []


async def test_openai_adapter_reuses_its_connection(server, llm):
    for _ in range(4):
        await reply_of(llm, request_with("Hi"))
    assert server.connections == 1


async def test_openai_adapter_sends_the_given_key_and_no_other(server, llm, monkeypatch):
    """Trap 44: the platform's key must not be sent to a self-hosted server."""
    for name in ("OPENAI_API_KEY", "GROQ_API_KEY", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "sk-platform")
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "GROQ_API_BASE"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-platform-secret: hidden")
    await reply_of(llm, request_with("Hi"))
    headers = str(server.requests[0].headers)
    assert "sk-test-key" in headers
    assert not any(word in headers for word in ("platform", "hidden", "openai-project"))


async def test_openai_adapter_sends_no_key_of_the_platform_to_a_server_without_keys(
    server, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-platform")
    monkeypatch.setenv("GROQ_API_KEY", "sk-platform")
    async with new_pool() as http:
        await reply_of(opened(server, "openai/m", api_key="", http=http), request_with("Hi"))
    await close_connections()
    assert "authorization" not in server.requests[0].headers


ERRORS = {
    "429": RateLimited,
    "529": Overloaded,
    "500": Overloaded,
    "503": Overloaded,
    "401": KeyRefused,
    "403": KeyRefused,
    "nocredit": NoCredit,
    "404": ModelMisconfigured,
    "413": ContextExceeded,
    "ctx": ContextExceeded,
    "badrequest": RequestRefused,
    "html": StreamBroken,
    "reset": StreamBroken,
    "cut": StreamBroken,
    "cuttool": StreamBroken,
    "nostop": StreamBroken,
    "midover": Overloaded,
    "midrate": RateLimited,
}
PASSING = {RateLimited, Overloaded, StreamBroken, Unreachable}


@pytest.mark.parametrize("kind", ERRORS)
async def test_openai_adapter_turns_each_fault_into_a_model_error_and_works_again(
    server, llm, kind
):
    server.script([fails(kind), says("Hello again.")])
    with pytest.raises(ModelError) as caught:
        await chunks_of(llm, request_with("Hi"))
    assert type(caught.value) is ERRORS[kind], caught.value.detail
    assert caught.value.retryable == (ERRORS[kind] in PASSING)
    assert len(caught.value.detail) > 20
    assert len(server.requests) == 1  # nobody else tries again
    assert (await reply_of(llm, request_with("Hi"))).text == "Hello again."
    assert server.wait_until_idle()


@pytest.mark.parametrize(("kind", "error"), [("hang", TimedOut), ("stall", StreamBroken)])
async def test_openai_adapter_gives_up_a_silent_server_and_works_again(server, kind, error):
    async with new_pool() as http:
        server.script([fails(kind), says("Hello again.")])
        with pytest.raises(error) as caught:
            await chunks_of(opened(server, limits=SILENT[kind], http=http), request_with("Hi"))
        assert caught.value.retryable == (error in PASSING)
        assert len(server.requests) == 1  # nobody else tries again
        assert (
            await reply_of(opened(server, http=http), request_with("Hi"))
        ).text == "Hello again."
        assert server.wait_until_idle()


async def test_openai_adapter_drops_images_that_the_server_refuses(server):
    """One image that it cannot read would else make each later request of the conversation fail."""
    history = history_with_images(2, BAD_IMAGE)
    request = request_with(*history[:3], model="openai/gpt-4o")
    server.script([says("Nothing."), says("Nothing more.")])
    async with new_pool() as http:
        llm = opened(server, "openai/gpt-4o", http=http)
        assert (await reply_of(llm, request)).text == "Nothing."
        later = replace(request, messages=tuple(history))
        assert (await reply_of(llm, later)).text == "Nothing more."
    # Of the second request only the new one is tried.
    assert [each.raw.count(b'"image_url":') for each in server.requests] == [1, 0, 1, 0]
    assert b"[image 1: PNG]" in server.requests[-1].raw


@pytest.mark.parametrize(("end", "stride"), [("clean", 7), ("close", 31), ("reset", 29)])
async def test_openai_adapter_gives_the_whole_reply_or_none_for_a_cut_stream(server, end, stride):
    """``test_openai_stream.py`` cuts at each byte."""
    whole = dialect.whole(says("Größe 🦙") + calls(bash="ls -l"), grain=16)
    finished = whole.index(b'"finish_reason":"tool_calls"')
    async with new_pool() as http:
        llm = opened(server, http=http)
        for at in range(0, len(whole) - 2, stride):
            server.script([Raw(whole[:at], end=end)])
            try:
                reply = await reply_of(llm, request_with("Hi"))
            except StreamBroken:
                continue
            # The model had said why it stopped, and the server ended in order.
            assert end == "clean"
            assert at > finished
            assert (reply.text, reply.calls[0].arguments) == ("Größe 🦙", {"command": "ls -l"})


@pytest.mark.parametrize(
    ("value", "least", "most"), [("7", 7, 7), ("0.5", 0.5, 0.5), ("soon", None, None)]
)
async def test_openai_adapter_reads_retry_after(server, llm, value, least, most):
    server.script([fails("429", retry_after=value)])
    with pytest.raises(RateLimited) as caught:
        await chunks_of(llm, request_with("Hi"))
    seconds = caught.value.retry_after_seconds
    assert (seconds is None) if least is None else (least <= seconds <= most)


async def test_openai_adapter_limits_the_time_of_the_whole_answer(server):
    async with new_pool() as http:
        limits = replace(PATIENT, total=0.6)
        server.script([says("word " * 100).slowly(tps=20)])
        with pytest.raises(TimedOut, match="in total"):
            await chunks_of(opened(server, limits=limits, http=http), request_with("Hi"))


async def test_openai_adapter_names_the_cause_of_a_failed_connection(server):
    causes = {
        "http://127.0.0.1:9/v1": "refused",
        f"{server.base_url.replace('http:', 'https:')}/v1": "TLS",
        "ftp://127.0.0.1/v1": "valid",
        "http://no-such-host.invalid/v1": "DNS",
    }
    async with new_pool() as http:
        for address, word in causes.items():
            llm = opened(server, "openai/m", base_url=address, http=http)
            with pytest.raises((Unreachable, ModelMisconfigured), match=word):
                await chunks_of(llm, request_with("Hi"))
    await close_connections()


async def test_openai_adapter_tells_a_missing_service_from_an_unknown_model(server, llm):
    async with new_pool() as http:
        elsewhere = opened(server, base_url=f"{server.base_url}/elsewhere", http=http)
        with pytest.raises(ModelMisconfigured, match="base URL"):
            await chunks_of(elsewhere, request_with("Hi"))
    server.script([fails("404")])
    with pytest.raises(ModelMisconfigured, match="know this model"):
        await chunks_of(llm, request_with("Hi"))


async def test_openai_adapter_follows_no_redirect(server, llm):
    server.script([fails("redirect")])
    with pytest.raises(ModelMisconfigured, match=r"redirect.*elsewhere\.invalid"):
        await chunks_of(llm, request_with("Hi"))
    assert len(server.requests) == 1


async def test_openai_adapter_removes_the_key_from_an_error_in_the_stream(server, llm):
    error = {"message": "Overloaded for sk-test-key.", "code": "overloaded_error"}
    server.script([Raw(dialect.frame({"error": error}))])
    with pytest.raises(Overloaded) as caught:
        await chunks_of(llm, request_with("Hi"))
    assert "Overloaded for ***." in caught.value.detail


async def test_openai_adapter_logs_nothing_of_a_call(server, llm, caplog, capfd):
    server.script([fails("500"), says("A secret answer.")])
    with caplog.at_level(0):
        with pytest.raises(Overloaded):
            await chunks_of(llm, request_with("A secret question."))
        await reply_of(llm, request_with("A secret question."))
    written = caplog.text + "".join(capfd.readouterr())
    assert not any(word in written for word in ("secret", "sk-test-key"))


async def test_openai_adapter_estimates_the_usage_if_the_server_reports_none(server, llm):
    stream = dialect.chunk({"content": "x" * 400}) + dialect.chunk({}, "stop") + b"data: [DONE]\n\n"
    server.script([Raw(stream)])
    usage = (await reply_of(llm, request_with("y" * 4000))).usage
    assert usage.estimated
    assert (usage.output, 1000 < usage.input < 1200) == (100, True)


async def test_openai_adapter_counts_cached_tokens_separately(server, llm):
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 800},
    }
    server.script([Raw(dialect.chunk({"content": "x"}, "stop", usage=usage) + b"data: [DONE]\n\n")])
    usage = (await reply_of(llm, request_with("Hi"))).usage
    assert usage == Usage(input=200, output=7, cache_read=800)


async def test_openai_adapter_sends_parameters_under_the_servers_names(server):
    given = {"temperature": 0.5, "top_p": 0.9, "top_k": 40, "effort": "high"}
    async with new_pool() as http:
        await reply_of(
            opened(server, http=http), request_with("Hi", parameters=given, max_tokens=77)
        )
    body = server.requests[0].body
    names = ("temperature", "top_p", "top_k", "reasoning_effort", "max_tokens")
    assert [body[name] for name in names] == [0.5, 0.9, 40, "high", 77]


async def test_openai_adapter_reports_an_unsupported_parameter_and_does_not_drop_it():
    llm = registry.open_llm("groq/llama", api_key="k")  # refused before anything is sent
    with pytest.raises(ModelMisconfigured, match=r"thinking_budget.*effort"):
        await chunks_of(llm, request_with("Hi", parameters={"thinking_budget": 2048}))


async def test_openai_adapter_leaves_out_a_field_that_the_server_refuses_by_name(server, llm):
    body = dialect.error_body(
        "invalid_request_error", "stream_options: Extra inputs are not permitted"
    )
    server.script([Raw(body, status=422), says("Hello.")])
    assert (await reply_of(llm, request_with("Hi"))).text == "Hello."
    assert "stream_options" in server.requests[0].body
    assert "stream_options" not in server.requests[1].body


async def test_openai_adapter_takes_the_newer_name_of_max_tokens_and_remembers_it(server, llm):
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    server.script([Raw(dialect.error_body("invalid_request_error", words), status=400)])
    for _ in range(2):
        async with new_pool() as http:
            await reply_of(opened(server, http=http), request_with("Hi"))
    limits = [
        [name for name in request.body if name.startswith("max_")] for request in server.requests
    ]
    assert limits == [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]]


async def test_openai_adapter_sends_call_ids_of_mistrals_length(server):
    async with new_pool() as http:
        await reply_of(opened(server, "mistral/m", http=http), request_with(*tool_steps(2)))
    await close_connections()
    sent = server.requests[0].body["messages"]
    ids = {m["tool_call_id"] for m in sent if m["role"] == "tool"}
    assert all(len(one) <= 9 for one in ids)
    assert server.violations == []


@pytest.mark.parametrize("model", ["mistral/large", "vllm/mistralai/Mistral-Small-3.2-24B"])
async def test_openai_adapter_puts_a_reply_between_results_and_a_persons_words_for_mistral(
    server, model
):
    history = [*tool_steps(1)[:-1], user_message(ToolResult("call0", "0"), "And now?")]
    async with new_pool() as http:
        await reply_of(opened(server, model, http=http), request_with(*history))
    roles = [message["role"] for message in server.requests[0].body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


async def test_openai_adapter_does_not_leak_memory_in_many_turns(server, llm):
    """Trap 38 for the adapter alone: each turn has a cancelled call and a whole one."""
    server.record = False
    server.script(lambda body: calls(bash="ls"))

    async def some_turns(count: int) -> None:
        for _ in range(count):
            async with aclosing(llm.stream(request_with(*tool_steps(5)))) as chunks:
                await anext(chunks)
            await reply_of(llm, request_with(*tool_steps(5)))

    await some_turns(15)
    # A connection that was left open would be 15,000 bytes a turn.
    assert await kept_bytes_each(some_turns, count=30, below=2_000) < 2_000
