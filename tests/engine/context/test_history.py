"""Law 4: what the model sees is derived from the log, and every provider accepts it."""

from hypothesis import given, settings

from paca import events
from paca.engine.context.history import GO_ON_EXACTLY, NO_RESULT, History, advance
from paca.engine.llm.base import Message, Text, Thinking, ToolResult, ToolUse
from paca.events import Event
from tests.support.logs import logs


def fold(log: list[Event]) -> History:
    history = History()
    for seq, event in enumerate(log, 1):
        history = advance(history, event, seq)
    return history


def said(history: History) -> list[tuple[str, list[str]]]:
    """Roles and words, for reading in a test."""
    return [
        (
            message.role,
            [getattr(block, "text", None) or block_name(block) for block in message.blocks],
        )
        for message in history.messages()
    ]


def block_name(block: object) -> str:
    match block:
        case ToolUse():
            return f"call {block.call_id}"
        case ToolResult():
            return f"result {block.call_id}"
    return type(block).__name__


def complaints(messages: tuple[Message, ...]) -> list[str]:
    """What a provider would refuse in these messages."""
    found = []
    if not messages or messages[0].role != "user" or messages[-1].role != "user":
        found.append("must begin and end with a user's message")
    for before, after in zip(messages, messages[1:], strict=False):
        if before.role == after.role:
            found.append("roles must alternate")
    for index, message in enumerate(messages):
        found += _wrong_blocks(message)
        calls = [block.call_id for block in message.blocks if isinstance(block, ToolUse)]
        following = messages[index + 1].blocks if index + 1 < len(messages) else ()
        results = [block.call_id for block in following if isinstance(block, ToolResult)]
        if message.role == "assistant" and calls != results:
            found.append(f"calls {calls} are answered by {results}")
        if calls and any(isinstance(block, Text) for block in following[: len(calls)]):
            found.append("results must come first")
    return found


def _wrong_blocks(message: Message) -> list[str]:
    found = []
    if not message.blocks:
        found.append("a message is empty")
    for block in message.blocks:
        if isinstance(block, Text) and not block.text.strip():
            found.append("a text is empty")
        if isinstance(block, ToolResult) and not block.output.strip():
            found.append("a result is empty")
        allowed = (Text, ToolResult) if message.role == "user" else (Text, Thinking, ToolUse)
        if not isinstance(block, allowed):
            found.append(f"{type(block).__name__} from {message.role}")
    if message.role == "assistant" and all(isinstance(b, Thinking) for b in message.blocks):
        found.append("only thoughts")
    return found


@settings(max_examples=600, deadline=None)
@given(logs())
def test_any_prefix_of_any_log_is_a_request_every_provider_accepts(log):
    history = History()
    for seq, event in enumerate(log, 1):
        history = advance(history, event, seq)
        assert complaints(history.messages()) == []


@settings(max_examples=300, deadline=None)
@given(logs())
def test_what_is_closed_only_grows(log):
    history = History()
    for seq, event in enumerate(log, 1):
        before = history.closed[:-1]
        history = advance(history, event, seq)
        assert history.closed[: len(before)] == before


def test_the_control_a_naive_history_is_refused():
    orphan = (Message("user", (ToolResult("c", "x"),)),)
    dangling = (Message("user", (Text("Hi"),)), Message("assistant", (ToolUse("c", "bash", {}),)))
    assert complaints(dangling)
    assert complaints((*dangling, Message("user", (Text("Still there?"),))))
    assert complaints((*orphan, Message("user", (Text(" "),))))


def test_a_message_that_came_during_the_reply_stands_after_it():
    log = [
        events.MessageReceived(text="First"),
        events.MessageReceived(text="Second, while it answers"),
        events.UsageRecorded(call_id="m1", model="m", seen_seq=1),
        events.MessageSpoken(text="Answer to the first", call_id="m1"),
    ]
    assert said(fold(log)) == [
        ("user", ["First"]),
        ("assistant", ["Answer to the first"]),
        ("user", ["Second, while it answers"]),
    ]


def test_a_call_without_a_result_is_answered_for_the_model():
    log = [
        events.MessageReceived(text="Go"),
        events.UsageRecorded(call_id="m1", model="m", seen_seq=1),
        events.ToolCalled(call_id="c1", tool="bash", arguments={}, model_call_id="m1"),
        events.ToolCalled(call_id="c2", tool="bash", arguments={}, model_call_id="m1"),
        events.ToolReturned(call_id="c2", output="two"),
        events.MessageReceived(text="And?"),
    ]
    last = fold(log).messages()[-1]
    assert last.blocks[0] == ToolResult("c1", NO_RESULT, failed=True)
    assert last.blocks[1] == ToolResult("c2", "two")
    assert last.blocks[2] == Text("And?")


def test_a_second_result_of_a_call_does_not_count():
    log = [
        events.MessageReceived(text="Go"),
        events.ToolCalled(call_id="c1", tool="bash", arguments={}, model_call_id="m1"),
        events.ToolReturned(call_id="c1", output="one"),
        events.ToolReturned(call_id="c1", output="two"),
        events.ToolReturned(call_id="never", output="orphan"),
    ]
    assert [block.output for block in fold(log).messages()[-1].blocks] == ["one"]


def test_a_cut_answer_is_continued_where_it_stopped():
    log = [
        events.MessageReceived(text="Write a book"),
        events.UsageRecorded(call_id="m1", model="m", seen_seq=1),
        events.MessageSpoken(text="Chapter o", call_id="m1", truncated=True),
    ]
    assert said(fold(log))[-1] == ("user", [GO_ON_EXACTLY])
