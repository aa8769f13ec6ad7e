"""The scripted model server refuses what the real service refuses, and counts requests."""

import json
import urllib.error
import urllib.request

import pytest

from tests.support import anthropic_dialect as dialect
from tests.support.model_script import Directive, calls, fails, says

USE = {"type": "tool_use", "id": "a", "name": "bash", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}


def text(words):
    return {"type": "text", "text": words}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


WRONG = {
    "no message": [],
    "the assistant first": [assistant(text("Hi"))],
    "two of the user": [user(text("a")), user(text("b"))],
    "an empty message": [user()],
    "an empty block": [user(text(" "))],
    "a call without a result": [user(text("a")), assistant(USE), user(text("b"))],
    "a call at the end": [user(text("a")), assistant(USE)],
    "a result too late": [
        user(text("a")), assistant(USE), user(text("b")), assistant(text("c")), user(RESULT)
    ],
    "a result without a call": [user(RESULT)],
    "two results": [user(text("a")), assistant(USE), user(RESULT, RESULT)],
    "the same id twice": [user(text("a")), assistant(USE, USE), user(RESULT, RESULT)],
    "words before the result": [user(text("a")), assistant(USE), user(text("b"), RESULT)],
    "thinking without a signature": [
        user(text("a")), assistant({"type": "thinking", "thinking": "x"}, text("b")), user(text("c"))
    ],
    "five cache marks": [user(*[{**text("a"), "cache_control": {"type": "ephemeral"}}] * 5)],
}  # fmt: skip


def body(messages):
    return {"model": "m", "max_tokens": 9, "stream": True, "messages": messages}


def post(server, messages):
    data = json.dumps(body(messages)).encode()
    request = urllib.request.Request(f"{server.base_url}/v1/messages", data, method="POST")
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.read().decode()


@pytest.mark.parametrize("messages", WRONG.values(), ids=WRONG.keys())
def test_model_server_refuses_and_records_what_the_real_service_refuses(server, messages):
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(server, messages)
    with caught.value as refusal:
        assert refusal.code == 400
    assert server.violations


def test_model_server_accepts_a_valid_conversation():
    messages = [user(text("a")), assistant(text("b"), USE), user(RESULT, text("go on"))]
    assert list(dialect.problems(body(messages))) == []


def test_model_server_uses_one_reply_for_each_request(server):
    server.script([says("common one"), says("common two")])
    server.script([says("for Ada")], to="Ada")
    assert "common one" in post(server, [user(text("Hi"))])
    assert "for Ada" in post(server, [user(text("I am Ada"))])
    assert "common two" in post(server, [user(text("I am Ada"))])
    assert "You said: Hi" in post(server, [user(text("Hi"))])
    assert len(server.requests) == 4


def test_model_server_takes_a_function_as_reply(server):
    server.script(lambda body: says(f"{len(body['messages'])} messages"))
    assert "1 messages" in post(server, [user(text("Hi"))])


def play(server, directive):
    """Answer the directive's calls until the final reply; returns the commands and the faults."""
    messages, commands, faults = [user(text(directive))], [], []
    for _ in range(40):
        reply = server.next_reply(body(messages))
        if reply.fault or not reply.parts or reply.stop:
            faults.append((len(commands), reply.fault or reply.stop or "empty"))
            continue
        if not reply.calls:
            return commands, faults, reply
        uses = [{**USE, "id": f"{len(messages)}-{n}"} for n, _ in enumerate(reply.calls)]
        commands += [call.arguments.get("command") for call in reply.calls]
        messages += [
            assistant(text("Step."), *uses),
            user(*({**RESULT, "tool_use_id": use["id"]} for use in uses)),
        ]
    return commands, faults, None


def test_directive_sets_turns_calls_and_faults(server):
    commands, faults, final = play(
        server,
        "Do it. [[fake turns=3 par=2 cmd='echo {i}.{p}' err=429@1x3,cut@2x1,empty@3 retry=2]]",
    )
    assert commands == ["echo 0.0", "echo 0.1", "echo 1.0", "echo 1.1", "echo 2.0", "echo 2.1"]
    assert faults == [(2, "429"), (2, "429"), (2, "429"), (4, "cut"), (6, "empty")]
    assert final.parts[0].startswith("All the steps")


def test_directive_with_a_fault_at_every_turn_never_ends(server):
    _, faults, final = play(server, "[[fake turns=1 err=529@*]]")
    assert len(faults) == 40
    assert final is None


def test_directive_ends_after_its_turns(server):
    messages = [user(text("[[fake]]")), assistant(text("All done.")), user(text("Thanks"))]
    assert server.next_reply(body(messages)).parts == ("You said: Thanks",)


def test_directive_makes_wrong_arguments_and_tools():
    directive = Directive.found_in("[[fake turns=1]]")
    assert directive.broken(0, "badtool").calls[0].tool == "no_such_tool"
    assert "command" not in directive.broken(0, "badargs").calls[0].arguments


@pytest.mark.parametrize("words", ["[[fake trns=1]]", "[[fake err=nope@0]]", "[[fake err=429]]"])
def test_directive_with_a_mistake_is_refused(words):
    with pytest.raises(ValueError, match=r"fake|err"):
        Directive.found_in(words)


def test_scripts_can_be_joined_and_make_calls():
    reply = says("Look.") + calls(bash=["ls", "pwd"], read_file={"path": "a", "first_line": 2})
    assert [call.arguments for call in reply.calls] == [
        {"command": "ls"},
        {"command": "pwd"},
        {"path": "a", "first_line": 2},
    ]
    with pytest.raises(ValueError, match="no such fault"):
        fails("nonsense")
