"""Odd answers of model servers through the whole product: what people see, and what the API says."""

import json

import pytest

from paca.agents import services as agents
from tests.engine.llm.oddities import arguments, bodies, ends, errors, reasoning
from tests.engine.llm.oddities.shape import as_json, delta, sse
from tests.support import openai_dialect
from tests.support.flow import assert_replay_matches, wait_until
from tests.support.model_script import Raw, calls, fails, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
OPENAI = pytest.mark.parametrize("flow", ["openai"], indirect=True)


def served(shape):
    return Raw(shape.body, content_type=shape.label, status=shape.status)


ANSWERED = {
    "[DONE] without a reason": (ends.SHAPES, "Hello.", ""),
    "a reason in capitals": (ends.SHAPES, "Hello.", ""),
    "an unknown reason": (ends.SHAPES, "Hello.", "unknown_stop"),
    "labelled text/plain": (bodies.SHAPES, "Hello.", ""),
    "a byte order mark": (bodies.SHAPES, "Hello.", ""),
    "a whole completion": (bodies.SHAPES, "Hello.", ""),
    "tags cut anywhere": (reasoning.SHAPES, "Hello.", ""),
    "only the closing tag": (reasoning.SHAPES, "Hello.", ""),
}
FAILED = {
    "half a character": ("failed/model_refused", "near 'hello ?'"),
    "NUL": ("failed/model_refused", "bad \u2400 byte"),
    "under 200: no balance": ("failed/configuration", "Insufficient account balance"),
    "a gateway's raw answer": ("failed/model_refused", "image too large"),
    "no tools": ("failed/configuration", "does not support tools"),
}


@OPENAI
def test_odd_answers_are_shown_whole_and_nothing_is_asked_twice(flow):
    for name, (shapes, text, notice) in ANSWERED.items():
        before = len(flow.model.requests)
        conversation = flow.ask("Hi", [served(shapes[name])])
        assert (conversation.status, conversation.answers) == ("finished/answered", [text]), name
        assert len(flow.model.requests) == before + 1, name
        codes = [fact["code"] for fact in conversation.event_data("model.noticed")]
        # The usage of the recorded answers is that of a short request.
        noticed = [code for code in codes if code != "request_read_in_part"]
        assert noticed == ([notice] if notice else []), name
        if shapes is reasoning.SHAPES:
            (thought,) = conversation.event_data("thought.recorded")
            assert thought["text"].strip() == "Hm."
        assert_replay_matches(conversation)


@OPENAI
def test_odd_errors_end_the_turn_in_the_providers_words(flow):
    for name, (status, words) in FAILED.items():
        before = len(flow.model.requests)
        conversation = flow.ask("Hi", [served(errors.SHAPES[name])] * 4)
        assert conversation.status == status, name
        (failed,) = conversation.event_data("conversation.failed")
        assert words in failed["message"], name
        assert len(flow.model.requests) == before + 1, name
        assert_replay_matches(conversation)


@OPENAI
def test_call_with_real_line_feeds_is_run(flow):
    line_feeds = openai_dialect.chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "bash", "arguments": '{"command": "echo one\necho two"}'}}]}, "tool_calls")  # fmt: skip
    conversation = flow.ask("Go", [Raw(line_feeds + b"data: [DONE]\n\n"), says("Done.")])
    assert conversation.status == "finished/answered"
    assert conversation.outputs[0].split()[:2] == ["one", "two"]


@OPENAI
def test_call_with_unreadable_arguments_is_explained_to_the_model(flow):
    conversation = flow.ask("Go", [served(arguments.SHAPES["single quotes"]), says("Sorry.")])
    assert (conversation.status, conversation.answers) == ("finished/answered", ["Sorry."])
    (output,) = conversation.outputs
    assert "could not be read" in output
    assert '"command"' in output  # the schema
    assert "{'command': 'ls'}" in flow.model.requests[-1].body["messages"][-1]["content"]
    assert_replay_matches(conversation)


def refuses_without(attached):
    """A server that answers 400 if a message with calls comes back without ``attached``."""

    def program(body):
        for message in body["messages"]:
            if message.get("tool_calls") and attached not in json.dumps(message):
                refusal = openai_dialect.error_body("invalid_request_error", f"missing {attached}")
                return Raw(refusal, status=400)
        turns = sum(map(openai_dialect.is_tool_turn, body["messages"]))
        return says("Done.") if turns else ATTACHING[attached]

    return program


CALL = {"index": 0, "id": "a", "function": {"name": "bash", "arguments": '{"command": "echo a"}'}}
SIGNED = {**CALL, "extra_content": {"google": {"thought_signature": "SIG=="}}}
DETAILS = [{"type": "reasoning.encrypted", "data": "ENC", "index": 0}]
ATTACHING = {
    "Let me see.": Raw(sse(delta(reasoning_content="Let me "), delta(reasoning_content="see."), delta("tool_calls", tool_calls=[CALL]))),
    "SIG==": Raw(sse(delta("tool_calls", tool_calls=[SIGNED]))),
    "ENC": Raw(sse(delta(reasoning_details=DETAILS), delta("tool_calls", tool_calls=[CALL]))),
}  # fmt: skip


@OPENAI
@pytest.mark.parametrize("attached", ATTACHING)
def test_reasoning_and_signatures_go_back_to_the_provider_that_attached_them(flow, attached):
    flow.model.script(refuses_without(attached))
    conversation = flow.ask("Go")
    assert (conversation.status, conversation.answers) == ("finished/answered", ["Done."])
    followed = flow.ask("And now?", after=conversation)
    assert followed.status == "finished/answered"
    assert_replay_matches(followed)


@OPENAI
def test_reasoning_goes_to_no_other_provider(flow):
    first = flow.ask("Go", [ATTACHING["Let me see."], ATTACHING["SIG=="], says("Done.")])
    assert first.status == "finished/answered"
    agents.configure(flow.world.agent, by=flow.world.owner, model="openai/other-test")
    flow.ask("And now?", [says("Well.")], after=first)
    sent = flow.model.requests[-1].raw.decode()
    assert "Let me see." not in sent
    assert "SIG==" not in sent


@OPENAI
def test_model_that_gives_only_reasoning_is_asked_once_and_then_its_reasoning_is_shown(flow):
    only = Raw(sse(delta(reasoning_content="It is 4."), delta("stop")))
    conversation = flow.ask("2+2?", [only, only])
    assert (conversation.status, conversation.answers) == ("finished/answered", ["It is 4."])
    assert [fact["code"] for fact in conversation.event_data("model.noticed")] == ["only_reasoning"]
    assert [fact["guard"] for fact in conversation.event_data("guard.noticed")] == [
        "only_reasoning"
    ]
    assert_replay_matches(conversation)


@OPENAI
def test_server_that_read_a_part_of_the_request_is_noticed(flow):
    usage = {"prompt_tokens": 2048, "completion_tokens": 3}
    answer = as_json({"choices": [{"index": 0, "message": {"content": "Hm."}, "finish_reason": "stop"}], "usage": usage})  # fmt: skip
    conversation = flow.ask("x " * 45_000, [Raw(answer)])
    (noticed,) = conversation.event_data("model.noticed")
    assert noticed["code"] == "request_read_in_part"
    assert "2,048" in noticed["text"]
    assert "OLLAMA_CONTEXT_LENGTH" in noticed["text"]


@OPENAI
def test_model_that_cannot_write_its_arguments_pauses_the_turn_by_name(flow):
    unreadable = served(arguments.SHAPES["cut"])
    conversation = flow.ask("Go", [unreadable, unreadable, unreadable, calls(bash="ls")])
    assert conversation.status == "paused/stuck"
    assert (
        "arguments of bash 3 times" in conversation.event_data("conversation.paused")[0]["detail"]
    )
    assert len(flow.model.requests) == 3


def refuses_words_after_results(body):
    """A server whose template takes no person's words directly after the result of a call."""
    roles = [message["role"] for message in body["messages"]]
    if ("tool", "user") in zip(roles, roles[1:], strict=False):
        refusal = openai_dialect.error_body("invalid_request_error", "Unexpected role 'user' after role 'tool'")  # fmt: skip
        return Raw(refusal, status=400)
    results = sum(role == "tool" for role in roles)
    return (
        says("Done.")
        if results or "echo" in str(body["messages"])
        else calls(bash="echo a; sleep 1")
    )


@OPENAI
def test_words_of_a_person_into_a_step_are_no_dead_end_on_a_strict_server(flow):
    flow.model.script(refuses_words_after_results)
    conversation = flow.begin("Go")
    wait_until(lambda: conversation.has_event("tool.started"))
    flow.send(conversation, "Also this, please.")
    assert flow.wait_until_idle(conversation) == "finished/answered"
    assert "Also this, please." in flow.model.requests[-1].raw.decode()
    assert_replay_matches(conversation)


@OPENAI
def test_model_that_does_not_begin_is_asked_once_and_the_setting_is_named(flow):
    parameters = {"first_token_seconds": 1}
    agents.configure(flow.world.agent, by=flow.world.owner, parameters=parameters)
    conversation = flow.ask("Hi", [fails("hang"), says("Hello.")])
    assert conversation.status == "paused/model_unavailable"
    (paused,) = conversation.event_data("conversation.paused")
    assert "first_token_seconds" in paused["detail"]
    assert len(flow.model.requests) == 1
    assert "first_token_seconds" not in flow.model.requests[0].body


@OPENAI
def test_model_that_is_still_loading_is_waited_for(flow):
    loading = served(errors.SHAPES["loading"])
    conversation = flow.ask("Hi", [loading, says("Hello.")])
    assert (conversation.status, conversation.answers) == ("finished/answered", ["Hello."])
    (retried,) = conversation.event_data("model.retried")
    assert (retried["code"], "Loading model" in retried["cause"]) == ("model_loading", True)


@OPENAI
def test_conversation_longer_than_the_window_is_shortened_or_pauses_with_the_ways_on(flow):
    # The newest result fits into the window of 8,192 tokens, the three together do not. All tools would fill most of it.
    agents.configure(flow.world.agent, by=flow.world.owner, tools=["bash", "read_file"])
    long = [calls(bash=f"seq {last}") for last in (2000, 2001, 300)]
    shortened = flow.ask("Go", [*long, fails("ctx"), says("Done.")])
    assert (shortened.status, shortened.answers) == ("finished/answered", ["Done."])
    assert shortened.event_data("context.trimmed")[0]["window"] == 8192
    assert "was left out" in flow.model.requests[-1].raw.decode()
    assert_replay_matches(shortened)
    full = flow.ask("Hi", [fails("ctx")])
    assert full.status == "paused/context_full"
    assert "larger window" in full.event_data("conversation.paused")[0]["detail"]
    assert flow.ask("Hi", [says("Hello.")], after=full).status == "finished/answered"
    assert_replay_matches(full)
