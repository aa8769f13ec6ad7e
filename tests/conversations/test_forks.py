"""Forks over the API: a new conversation that begins with a copy of another's log."""

import functools
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from paca import events
from paca.agents import services as agents
from paca.common.errors import NotFound
from paca.conversations import event_log, services
from paca.conversations.models import Event, ToolCall
from paca.conversations.services import forks
from paca.engine.context.history import History, advance
from paca.engine.turn import TurnOutcome
from paca.events import MessageSpoken, UsageRecorded
from paca.worker import turn_end
from tests.conversations.chat import Chat, bash_call, error_of
from tests.engine.provider_rules import violations

pytestmark = pytest.mark.django_db

USED = UsageRecorded(call_id=uuid4().hex, model="m", input=10, output=2, cost_usd=0.25)


def asked(chat: Chat, text: str = "Sum up the week") -> str:
    """A conversation in which the agent has answered one message with a command and a text."""
    conversation = chat.start(text)["conversation"]
    chat.run_turn(conversation, USED, *bash_call("ls", "week.txt"), MessageSpoken(text="Quiet."))
    return str(conversation)


def frames(chat: Chat, conversation: str) -> list[dict[str, Any]]:
    return list(chat.api.get(chat.url(conversation, "events/")).json()["results"])


def seq_of(chat: Chat, conversation: str, kind: str) -> int:
    return next(row["seq"] for row in frames(chat, conversation) if row["type"] == f"agent.{kind}")


def fork(chat: Chat, conversation: str, seq: int, **body: Any) -> dict[str, Any]:
    answer = chat.api.post(chat.url(conversation, "fork/"), {"seq": seq, **body})
    assert answer.status_code == 201, answer.data
    return dict(answer.data)


def test_fork_begins_with_a_copy_of_the_log_and_leaves_its_origin_as_it_is():
    chat = Chat()
    origin = asked(chat)
    before = frames(chat, origin)
    seq = seq_of(chat, origin, "turn.finished")
    made = fork(chat, origin, seq)
    copied, own = frames(chat, made["id"])[:seq], frames(chat, made["id"])[seq:]
    known = ("seq", "type", "source", "turn", "at", "data")
    assert [[row[name] for name in known] for row in copied] == [
        [row[name] for name in known] for row in before[:seq]
    ]
    assert [row["type"] for row in own] == ["agent.conversation.forked", "agent.title.changed"]
    assert own[0]["data"] == {
        "conversation_id": origin,
        "seq": seq,
        "title": "Sum up the week",
        "by": chat.world.owner.name,
        "files": "none",
    }
    assert frames(chat, origin) == before
    assert (made["status"], made["title"]) == ("finished", "Fork of Sum up the week")
    assert made["forked_from_id"] == origin
    assert made["chat_session_id"] is not None
    assert made["usage"]["input"] == 0
    assert made["usage"]["cost_usd"] == 0
    assert fork(chat, made["id"], made["last_seq"])["title"] == "Fork of Sum up the week"


def test_changed_message_is_sent_in_a_fork_that_ends_before_it():
    chat = Chat()
    origin = asked(chat)
    made = fork(chat, origin, seq_of(chat, origin, "message.received") - 1, text="Sum up May")
    assert (made["status"], made["title"]) == ("queued", "Sum up May")
    told = [row for row in frames(chat, made["id"]) if row["type"] == "agent.message.received"]
    assert [row["data"]["text"] for row in told] == ["Sum up May"]
    chat.run_turn(made["id"], MessageSpoken(text="Warm."))
    assert chat.api.get(chat.url(made["id"])).json()["status"] == "finished"


def test_changed_message_has_the_effort_of_the_one_in_whose_place_it_is_sent():
    chat = Chat()
    origin = str(chat.start("Sum up the week", effort="determined")["conversation"])
    chat.run_turn(origin, MessageSpoken(text="Quiet."))
    before = seq_of(chat, origin, "message.received") - 1
    efforts = []
    for seq in (before, seq_of(chat, origin, "turn.finished")):
        made = fork(chat, origin, seq, text="Sum up May")["id"]
        told = [row for row in frames(chat, made) if row["type"] == "agent.message.received"]
        efforts.append(told[-1]["data"].get("effort", ""))
    assert efforts == ["determined", ""]


def test_fork_from_the_middle_of_a_running_turn_ends_the_turn_in_the_copy_alone():
    chat = Chat()
    origin = chat.start("Sum up the week")["conversation"]
    called, returned = bash_call("sleep 9", "")
    lease = chat.start_turn(origin, USED, called)
    made = fork(chat, origin, chat.row(origin).last_seq, text="Stop that. What is 2 + 2?")
    ended = next(row for row in frames(chat, made["id"]) if row["type"] == "agent.turn.finished")
    assert (ended["data"]["status"], ended["data"]["reason"]) == ("stopped", "forked")
    # What the fork says of the call changes no row of the origin, whose call still runs.
    unknown = events.ToolOutcomeUnknown(call_id=called.call_id, output="Lost.")
    fork_lease = chat.start_turn(made["id"], unknown, MessageSpoken(text="4"))
    assert ToolCall.objects.get().state == "called"
    chat.finish_turn(fork_lease)
    chat.finish_turn(lease, returned)
    assert ToolCall.objects.get().state == "done"
    assert chat.row(made["id"]).turn_number == 2


def test_fork_at_any_event_has_a_valid_history_without_open_calls():
    chat = Chat()
    origin = chat.start("Look at two folders")["conversation"]
    reply = uuid4().hex
    one, two = (
        events.ToolCalled(
            call_id=uuid4().hex, tool="bash", arguments={"command": "ls"}, model_call_id=reply
        )
        for _ in range(2)
    )
    happened = [
        USED,
        MessageSpoken(text="I look.", call_id=reply),
        one,
        two,
        events.ToolStarted(call_id=one.call_id, boot_id="b"),
        events.ToolReturned(call_id=one.call_id, output="a"),
        events.ToolStarted(call_id=two.call_id, boot_id="b"),
        events.ToolReturned(call_id=two.call_id, output="b"),
    ]
    chat.run_turn(origin, *happened, MessageSpoken(text="Two files.", call_id=uuid4().hex))
    told = set()
    for seq in range(chat.row(origin).last_seq + 1):
        made = fork(chat, origin, seq)
        log = event_log.load_after(UUID(made["id"]), 0)
        assert [number for number, _ in log] == list(range(1, made["last_seq"] + 1))
        history = functools.reduce(
            lambda known, each: advance(known, each[1], each[0]), log, History()
        )
        assert history.open_calls() == ()
        assert violations(history.messages()) == [], seq
        told |= {event.output for _, event in log if isinstance(event, events.ToolReturned)}
    assert told == {"a", "b", forks.NOT_RUN, forks.RUNS_ON}


def test_call_that_a_failed_turn_left_open_is_not_run_in_a_fork():
    """A failed turn leaves its open calls to the next turn of the same conversation."""
    chat = Chat()
    origin = chat.start("Print it")["conversation"]
    called, _ = bash_call("ls", "")
    lease = chat.start_turn(origin, called)
    turn_end.end_turn(lease, [], TurnOutcome("failed", "configuration"), steps=1)
    made = fork(chat, origin, chat.row(origin).last_seq, text="Never mind")
    outputs = [
        row["data"] for row in frames(chat, made["id"]) if row["type"] == "agent.tool.returned"
    ]
    assert [(each["output"], each["cause"]) for each in outputs] == [(forks.NOT_RUN, "cancelled")]


def test_fork_shows_the_context_of_its_last_copied_request():
    chat = Chat()
    origin = chat.start()["conversation"]
    parts = {"system": 4, "tools": 3, "messages": 3, "results": 0}
    first, second = ({"used": used, "window": 100, "parts": parts} for used in (10, 20))
    chat.run_turn(origin, replace(USED, context=first), MessageSpoken(text="Hi."))
    seq = chat.row(origin).last_seq
    assert chat.api.post(chat.url(origin, "messages/"), {"text": "And?"}).status_code == 202
    chat.run_turn(origin, replace(USED, call_id=uuid4().hex, context=second))
    assert chat.row(fork(chat, origin, seq)["id"]).context == first
    assert chat.row(fork(chat, origin, chat.row(origin).last_seq)["id"]).context == second
    assert chat.row(fork(chat, origin, 1)["id"]).context is None


def test_fork_of_a_conversation_that_was_deleted_meanwhile_is_refused():
    chat = Chat()
    found = chat.row(asked(chat))
    assert chat.api.delete(chat.url(found.pk)).status_code == 204
    with pytest.raises(NotFound):
        services.fork(found, seq=1, by=chat.world.owner)


def test_long_log_is_copied_with_as_many_queries_as_a_short_one():
    chat = Chat()
    counts = []
    for count in (3, 300):
        origin = chat.start()["conversation"]
        chat.run_turn(origin, *[MessageSpoken(text=f"{n}") for n in range(count)])
        seq = chat.row(origin).last_seq
        with CaptureQueriesContext(connection) as queries:
            fork(chat, origin, seq)
        counts.append(len(queries))
        assert Event.objects.filter(conversation__forked_from=origin, seq__lte=seq).count() == seq
    assert counts[0] == counts[1]


def test_fork_of_an_archived_conversation_is_in_the_lists():
    chat = Chat()
    origin = asked(chat)
    assert chat.api.patch(chat.url(origin), {"archived": True}).status_code == 200
    made = fork(chat, origin, chat.row(origin).last_seq)
    assert made["archived"] is False
    listed = chat.api.get(f"{chat.conversations_url}?archived=false").json()["results"]
    assert [row["id"] for row in listed] == [made["id"]]


def test_export_of_a_fork_names_its_origin():
    chat = Chat()
    origin = asked(chat)
    made = fork(chat, origin, seq_of(chat, origin, "turn.finished"), text="And now?")
    shown = chat.api.get(chat.url(made["id"], "export/?format=markdown")).content.decode()
    assert "Forked here from Sum up the week" in shown


def test_message_of_a_fork_is_sent_once_for_one_key():
    chat = Chat()
    origin = asked(chat)
    body = {"seq": 1, "text": "Again"}
    first, second = (
        chat.api.post(chat.url(origin, "fork/"), body, **{"Idempotency-Key": "one"}).json()
        for _ in range(2)
    )
    assert first["id"] == second["id"]
    listed = chat.api.get(chat.conversations_url).json()["results"]
    assert [row["id"] for row in listed].count(first["id"]) == 1
    assert len(listed) == 2


def test_fork_is_refused_beyond_the_end_and_for_an_agent_that_takes_no_work():
    chat = Chat()
    origin = asked(chat)
    last = chat.row(origin).last_seq
    refused = chat.api.post(chat.url(origin, "fork/"), {"seq": last + 1})
    status, code, fields = error_of(refused)
    assert (status, code) == (400, "invalid")
    assert fields["seq"] == [f"The last event of this conversation is {last}."]
    agents.configure(chat.world.agent, by=chat.world.owner, status="inactive")
    refused = chat.api.post(chat.url(origin, "fork/"), {"seq": last})
    assert error_of(refused)[:2] == (409, "agent_unavailable")


def test_fork_keeps_its_log_and_its_large_outputs_when_its_origin_is_deleted():
    chat = Chat()
    origin = chat.start("Print it")["conversation"]
    chat.run_turn(origin, *bash_call("cat big", "x" * 100_000), MessageSpoken(text="Done."))
    made = fork(chat, origin, seq_of(chat, origin, "turn.finished"))
    assert chat.api.delete(chat.url(origin)).status_code == 204
    outputs = [row for row in frames(chat, made["id"]) if row["type"] == "agent.tool.returned"]
    assert len(outputs[0]["data"]["output"]) == 100_000
    assert not Event.objects.filter(conversation=origin).exists()


def test_words_of_a_fork_are_found_by_search():
    chat = Chat()
    origin = asked(chat, "Where is the lighthouse?")
    made = fork(chat, origin, seq_of(chat, origin, "turn.finished"))
    found = chat.api.get(f"{chat.project_url}search/?q=lighthouse").json()["results"]
    assert {origin, made["id"]} <= {str(row["id"]) for row in found}
