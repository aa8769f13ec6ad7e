"""The Anthropic adapter over real HTTP: each failure is a ``ModelError`` and closes its connection."""

import email.utils
import socket
import time
from contextlib import aclosing
from dataclasses import replace

import anthropic
import httpx2
import pytest

from paca.engine.llm import provider_errors, seen_images
from paca.engine.llm.anthropic.client import AnthropicLLM
from paca.engine.llm.base import (
    StopReason,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolResult,
    UsageSeen,
)
from paca.engine.llm.http_pool import new_pool
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
    GOOD_IMAGE,
    assistant_message,
    chunks_of,
    history_with_images,
    reply_of,
    request_with,
    tool_steps,
    user_message,
)
from tests.support import anthropic_dialect as dialect
from tests.support.memory import kept_bytes_each
from tests.support.model_script import Raw, calls, fails, says, thinks

pytestmark = pytest.mark.anyio


async def test_anthropic_adapter_streams_an_answer_and_ends_with_the_whole_reply(server, llm):
    server.script([thinks("Easy.") + says("Hello there, how are you?").slowly(tps=500)])
    chunks = await chunks_of(llm, request_with("Hi"))
    pieces = [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)]
    assert len(pieces) > 3
    assert "".join(pieces) == chunks[-1].text == "Hello there, how are you?"
    assert isinstance(chunks[0], UsageSeen)
    assert any(isinstance(chunk, ThinkingDelta) for chunk in chunks)
    assert chunks[-1].usage.input > 10
    assert server.violations == []


async def test_anthropic_adapter_sends_thinking_and_calls_back_in_the_providers_form(server, llm):
    server.script(
        [thinks("Look first.") + says("I look.") + calls(bash=["ls", "pwd"]), says("Done.")]
    )
    reply = await reply_of(llm, request_with("Look around."))
    assert reply.stop is StopReason.TOOLS
    results = user_message(*(ToolResult(call.call_id, "out") for call in reply.calls))
    history = (user_message("Look around."), assistant_message(*reply.blocks), results)
    assert (await reply_of(llm, request_with(*history))).text == "Done."
    thought = server.requests[-1].body["messages"][1]["content"][0]
    assert (thought["thinking"], bool(thought["signature"])) == ("Look first.", True)
    assert server.violations == []


async def test_anthropic_adapter_reuses_its_connection(server, llm):
    for _ in range(5):
        await reply_of(llm, request_with("Hi"))
    assert server.connections == 1


async def test_anthropic_adapter_sends_the_given_key_and_no_other(server, llm, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-platform")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "platform-token")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-platform-secret: hidden")
    await reply_of(llm, request_with("Hi"))
    headers = str(server.requests[0].headers)
    assert "sk-test-key" in headers
    assert not any(word in headers for word in ("platform", "hidden"))


async def test_anthropic_adapter_sends_what_the_sdk_sends_with_each_request(server, llm):
    """Anthropic's SDK, which only the tests have, knows the version of the API and how a key is sent."""
    for _ in range(2):
        await reply_of(llm, request_with("Hi"))
    async with httpx2.AsyncClient() as http:
        known = anthropic.AsyncAnthropic(api_key="sk-test-key", http_client=http).default_headers
    wanted = {name.lower(): value for name, value in known.items() if isinstance(value, str)}
    about_itself = {name for name in wanted if name.startswith("x-stainless-")} | {"user-agent"}
    for request in server.requests:
        sent = {name.lower(): value for name, value in request.headers.items()}
        for name in wanted.keys() - about_itself:
            assert sent[name] == wanted[name]
        assert not sent.keys() & (about_itself - {"user-agent"})


async def test_anthropic_adapter_accepts_a_base_url_with_its_version(server):
    llm = AnthropicLLM("k", base_url=f"{server.base_url}/v1/")
    assert (await reply_of(llm, request_with("Hi"))).text == "You said: Hi"


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
async def test_anthropic_adapter_turns_each_fault_into_a_model_error_and_works_again(
    server, llm, kind
):
    server.script([fails(kind), says("Hello again.")])
    with pytest.raises(ModelError) as caught:
        await chunks_of(llm, request_with("Hi"))
    assert type(caught.value) is ERRORS[kind]
    assert caught.value.retryable == (ERRORS[kind] in PASSING)
    assert len(caught.value.detail) > 20
    assert (await reply_of(llm, request_with("Hi"))).text == "Hello again."
    assert server.wait_until_idle()


@pytest.mark.parametrize(("kind", "error"), [("hang", TimedOut), ("stall", StreamBroken)])
async def test_anthropic_adapter_gives_up_a_silent_server_and_works_again(server, llm, kind, error):
    server.script([fails(kind), says("Hello again.")])
    async with new_pool() as http:
        impatient = AnthropicLLM(
            "sk-test-key", base_url=server.base_url, limits=SILENT[kind], http=http
        )
        with pytest.raises(error) as caught:
            await chunks_of(impatient, request_with("Hi"))
    assert caught.value.retryable == (error in PASSING)
    assert (await reply_of(llm, request_with("Hi"))).text == "Hello again."
    assert server.wait_until_idle()


async def test_anthropic_adapter_gives_no_reply_for_a_cut_stream(server, llm):
    whole = dialect.whole(thinks("Hm.") + says("Größe 🦙") + calls(bash="ls -l"))
    for number, at in enumerate([*range(0, len(whole) - 2, 61), len(whole) - 3]):
        server.script([Raw(whole[:at], end=("clean", "close", "reset")[number % 3])])
        with pytest.raises(StreamBroken):
            await chunks_of(llm, request_with("Hi"))
    server.script([Raw(whole)])
    assert (await reply_of(llm, request_with("Hi"))).calls


async def test_anthropic_adapter_keeps_a_reply_if_the_connection_breaks_after_its_end(server, llm):
    server.script([Raw(dialect.whole(says("All there.")), end="close")])
    assert (await reply_of(llm, request_with("Hi"))).text == "All there."


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [("7", 7, 7), ("0.5", 0.5, 0.5), ("soon", None, None), ("nan", None, None), ("-3", 0, 0)],
)
async def test_anthropic_adapter_reads_retry_after(server, llm, value, least, most):
    server.script([fails("429", retry_after=value)])
    with pytest.raises(RateLimited) as caught:
        await chunks_of(llm, request_with("Hi"))
    seconds = caught.value.retry_after_seconds
    assert (seconds is None) if least is None else (least <= seconds <= most)


async def test_anthropic_adapter_reads_retry_after_as_a_date(server, llm):
    server.script([fails("529", retry_after=email.utils.formatdate(time.time() + 90, usegmt=True))])
    with pytest.raises(Overloaded) as caught:
        await chunks_of(llm, request_with("Hi"))
    assert 80 < caught.value.retry_after_seconds <= 91


async def test_anthropic_adapter_waits_for_a_slow_stream(server, llm):
    server.script([says("word " * 8).slowly(tps=10)])
    assert len((await reply_of(llm, request_with("Hi"))).text) > 30


async def test_anthropic_adapter_limits_the_time_of_the_whole_answer(server):
    limits = replace(PATIENT, total=0.6)
    llm = AnthropicLLM("k", base_url=server.base_url, limits=limits)
    server.script([says("word " * 100).slowly(tps=20)])
    with pytest.raises(TimedOut, match="in total"):
        await chunks_of(llm, request_with("Hi"))


async def test_anthropic_adapter_names_the_cause_of_a_failed_connection(server, llm):
    causes = {
        "http://127.0.0.1:9": "refused",
        server.base_url.replace("http:", "https:"): "TLS",
        "ftp://example.invalid": "valid",
        "nonsense": "valid",
        "http://[::1": "valid",
    }
    for address, word in causes.items():
        with pytest.raises((Unreachable, ModelMisconfigured), match=word):
            await chunks_of(AnthropicLLM("k", base_url=address, http=llm._http), request_with("Hi"))


def test_anthropic_adapter_reports_a_name_that_cannot_be_resolved():
    """The error is made by hand: a real resolver is slow and answers differently on each machine."""
    try:
        try:
            raise socket.gaierror(-2, "Name or service not known")
        except OSError as inner:
            raise ConnectionError("All connection attempts failed") from inner
    except ConnectionError as error:
        described = provider_errors.from_transport(error, "https://no-such-host.invalid")
    assert (type(described), "DNS" in described.detail) == (Unreachable, True)


async def test_anthropic_adapter_tells_a_missing_service_from_an_unknown_model(server, llm):
    elsewhere = AnthropicLLM("k", base_url=f"{server.base_url}/elsewhere", http=llm._http)
    with pytest.raises(ModelMisconfigured, match="base URL"):
        await chunks_of(elsewhere, request_with("Hi"))
    server.script([fails("404")])
    with pytest.raises(ModelMisconfigured, match="know this model"):
        await chunks_of(llm, request_with("Hi"))


async def test_anthropic_adapter_follows_no_redirect(server, llm):
    server.script([fails("redirect")])
    with pytest.raises(ModelMisconfigured, match=r"redirect.*elsewhere\.invalid"):
        await chunks_of(llm, request_with("Hi"))
    assert len(server.requests) == 1


async def test_anthropic_adapter_removes_the_key_from_an_error_in_the_stream(server, llm):
    error = {"type": "overloaded_error", "message": "Overloaded for sk-test-key."}
    server.script([Raw(dialect.frame("error", error=error))])
    with pytest.raises(Overloaded) as caught:
        await chunks_of(llm, request_with("Hi"))
    assert "Overloaded for ***." in caught.value.detail


async def test_anthropic_adapter_drops_thinking_that_the_provider_refuses(server, llm):
    server.script([says("Yes.")])
    history = [
        user_message("Hi"),
        assistant_message(Thinking("Hm.", "signed elsewhere"), "Hello."),
        user_message("Still there?"),
    ]
    assert (await reply_of(llm, request_with(*history))).text == "Yes."
    assert [block["type"] for block in server.requests[1].body["messages"][1]["content"]] == [
        "text"
    ]
    await reply_of(llm, request_with(*history))
    assert len(server.requests) == 3  # it is not tried with that thinking again


def images_in(raw: bytes) -> int:
    return raw.count(b'"type":"image"')


async def test_anthropic_adapter_drops_images_that_the_provider_refuses(server, llm):
    """One image that it cannot read would else make each later request of the conversation fail."""
    history = history_with_images(2, BAD_IMAGE)
    request = request_with(*history[:3], model="anthropic/claude-sonnet-4-5")
    server.script([says("Nothing."), says("Nothing more.")])
    assert (await reply_of(llm, request)).text == "Nothing."
    assert (await reply_of(llm, replace(request, messages=tuple(history)))).text == "Nothing more."
    # Of the second request only the new one is tried.
    assert [images_in(each.raw) for each in server.requests] == [1, 0, 1, 0]
    assert b"[image 1: PNG]" in server.requests[-1].raw


async def test_anthropic_adapter_drops_images_of_a_request_that_is_too_long_for_their_sake(
    server, llm, monkeypatch
):
    monkeypatch.setattr(seen_images, "MANY_IMAGES_CHARACTERS", 40)
    request = request_with(*history_with_images(2, GOOD_IMAGE), model="anthropic/claude-sonnet-4-5")
    server.script([fails("413"), says("Much.")])
    assert (await reply_of(llm, request)).text == "Much."
    few = replace(request, messages=tuple(history_with_images(1, GOOD_IMAGE)))
    server.script([fails("413")])
    with pytest.raises(ContextExceeded):
        await reply_of(llm, few)


async def test_anthropic_adapter_keeps_the_previous_request_as_prefix(server, llm):
    history = tool_steps(4)
    for length in range(1, len(history) + 1, 2):
        await reply_of(llm, request_with(*history[:length]))
    mark = b',"cache_control":{"type":"ephemeral"}'
    bodies = [request.raw.replace(mark, b"") for request in server.requests]
    for earlier, later in zip(bodies, bodies[1:], strict=False):
        assert later.startswith(earlier.removesuffix(b"]}"))
    assert server.violations == []


@pytest.mark.process
async def test_anthropic_adapter_does_not_leak_memory_in_a_thousand_turns(server, llm):
    """Trap 38 for the adapter alone: each turn has a cancelled call and a whole one."""
    server.record = False
    server.script(lambda body: calls(bash="ls"))

    async def some_turns(count: int) -> None:
        for _ in range(count):
            fresh = AnthropicLLM("k", base_url=server.base_url, http=llm._http)
            async with aclosing(fresh.stream(request_with(*tool_steps(5)))) as chunks:
                await anext(chunks)
            await reply_of(fresh, request_with(*tool_steps(5)))

    await some_turns(10)
    # A connection that was left open would be 15,000 bytes a turn.
    assert await kept_bytes_each(some_turns, count=40, below=2_000) < 2_000


async def test_anthropic_adapter_ends_an_answer_that_is_too_long(server, llm, monkeypatch):
    monkeypatch.setattr("paca.engine.llm.response_body.MAX_ANSWER_BYTES", 100_000)
    server.script([Raw(dialect.whole(says("x" * 90_000), grain=90_000))])
    assert (await reply_of(llm, request_with("Hi"))).text == "x" * 90_000
    server.script([Raw(dialect.whole(says("x" * 110_000), grain=10_000))])
    with pytest.raises(StreamBroken, match="longer than 64 MiB"):
        await reply_of(llm, request_with("Hi"))
