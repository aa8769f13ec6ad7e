"""A refusal of the history is not final: it is sent once more in the strictest form."""

import json
from dataclasses import replace

import pytest

from paca.engine.llm import registry
from paca.engine.llm.base import HistoryForm, Thinking, ToolResult, ToolUse
from paca.engine.llm.http_pool import new_pool
from paca.engine.llm.model_errors import ContextExceeded, KeyRefused, RequestRefused
from tests.engine.llm.request_builders import (
    assistant_message,
    chunks_of,
    reply_of,
    request_with,
    user_message,
)
from tests.support import anthropic_dialect, openai_dialect
from tests.support.model_script import Raw, says

pytestmark = pytest.mark.anyio
DIALECTS = {"openai": openai_dialect, "anthropic": anthropic_dialect}
THOUGHT = Thinking("Hm.")


@pytest.fixture(params=DIALECTS)
def dialect(request):
    return request.param


@pytest.fixture
async def llm(server, dialect):
    base_url = server.base_url if dialect == "anthropic" else f"{server.base_url}/v1"
    async with new_pool() as http:
        yield registry.open_llm(f"{dialect}/odd", base_url=base_url, api_key="k", http=http)


def history(first):
    use = ToolUse("call1", "bash", {"command": "ls"})
    words = user_message(ToolResult("call1", "a.txt"), "And now?")
    return request_with(first, assistant_message(THOUGHT, "I look.", use), words)


def refusal(dialect, words, status=400):
    return Raw(DIALECTS[dialect].error_body("invalid_request_error", words), status=status)


def wants_alternating_texts(dialect):
    """A server whose template knows texts of two roles in turn, and nothing else."""

    def program(body):
        roles = [message["role"] for message in body["messages"]]
        texts = roles == ["user", "assistant", "user"] and "tool_use" not in json.dumps(body)
        return says("Done.") if texts else refusal(dialect, "Conversation roles must alternate.")

    return program


async def test_refused_history_is_sent_once_more_as_alternating_texts(server, llm, dialect):
    server.script(wants_alternating_texts(dialect))
    assert (await reply_of(llm, history("One."))).text == "Done."
    sent = server.requests[-1].body
    everything = json.dumps(sent["messages"])
    assert all(part in everything for part in ("Be brief.", "One.", "I look.", "a.txt", "And now?"))
    assert "Hm." not in everything
    assert len(sent["tools"]) == 1  # the model may still call
    assert len(server.requests) == 2


async def form_of(llm, request):
    """What was learned with a request that is answered."""
    forms = [chunk for chunk in await chunks_of(llm, request) if isinstance(chunk, HistoryForm)]
    return forms[0] if forms else None


async def test_server_that_is_known_to_refuse_a_history_gets_it_in_the_strictest_form_at_once(
    server, llm, dialect
):
    server.script(wants_alternating_texts(dialect))
    learned = await form_of(llm, history("Two."))
    assert learned.as_text
    known = replace(history("Two."), as_text_for=learned.server)
    assert await form_of(llm, known) is None
    assert len(server.requests) == 3
    assert await form_of(llm, replace(known, as_text_for="another")) == learned
    assert len(server.requests) == 5


async def test_strictest_form_that_a_server_refuses_later_is_left(server, llm, dialect):
    server.script([refusal(dialect, "odd one"), says("One."), refusal(dialect, "odd two"), says("Two.")])  # fmt: skip
    learned = await form_of(llm, history("Left."))
    known = replace(history("Left."), as_text_for=learned.server)
    assert await form_of(llm, known) == HistoryForm(learned.server, as_text=False)
    usual = [json.dumps(each.body["messages"]) for each in server.requests]
    assert usual[0] == usual[3] != usual[1] == usual[2]


async def test_history_that_is_refused_in_every_form_fails_in_the_words_of_the_first_refusal(
    server, llm, dialect
):
    server.script([refusal(dialect, "odd one"), refusal(dialect, "odd two")])
    with pytest.raises(RequestRefused, match="odd one"):
        await reply_of(llm, history("Three."))
    server.script([says("Hello.")])
    await reply_of(llm, history("Three."))
    assert "tool_use" in str(server.requests[-1].body) or "tool_calls" in str(
        server.requests[-1].body
    )


@pytest.mark.parametrize(
    ("words", "status", "error"),
    [
        ("temperature: not supported by this model", 400, RequestRefused),
        ("Incorrect API key", 401, KeyRefused),
        ("This model's maximum context length is 8192 tokens", 400, ContextExceeded),
    ],
)
async def test_refusal_of_something_else_is_not_sent_again(
    server, llm, dialect, words, status, error
):
    server.script([refusal(dialect, words, status)])
    with pytest.raises(error):
        await reply_of(llm, history("Four."))
    assert len(server.requests) == 1


async def test_refused_first_message_is_not_sent_again(server, llm, dialect):
    server.script([refusal(dialect, "odd")])
    with pytest.raises(RequestRefused):
        await reply_of(llm, request_with("Hi"))
    assert len(server.requests) == 1
