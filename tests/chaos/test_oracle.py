"""The oracle finds no fault in a sound conversation, and finds each kind of fault."""

import json
from collections import Counter
from collections.abc import Callable
from uuid import uuid4

import pytest
from django.db.models import F
from django.utils import timezone

from paca import events
from paca.conversations import services, store
from paca.conversations.models import Conversation, Event, Trigger
from paca.engine.turn import ModelCallStarted, TurnOutcome
from paca.worker import turn_end
from paca.worker.claim import claim
from tests.chaos import oracle
from tests.chaos.scripts import DONE, Script, marking_command
from tests.support.flow import ObservedConversation
from tests.support.model_script import calls, says
from tests.support.world import make_world

pytestmark = pytest.mark.django_db(transaction=True)

SCRIPT = Script("m", [says("I begin.") + calls(bash=marking_command("m")), says(DONE)])
EFFECTS = {"m.begun": 1, "m.ended": 1}
CALL = uuid4().hex


@pytest.fixture
def observed() -> ObservedConversation:
    """A conversation that went as its script says."""
    made = make_world()
    sent = services.start_chat(made.agent, text=SCRIPT.first_message, by=made.owner)
    (claimed,) = claim("w", lease_seconds=60, limit=1)
    ask, again = uuid4().hex, uuid4().hex
    arguments = {"command": marking_command("m")}
    for entries in (
        [ModelCallStarted(call_id=ask, model="m")],
        [
            events.UsageRecorded(call_id=ask, model="m"),
            events.MessageSpoken(call_id=ask, text="I begin."),
            events.ToolCalled(call_id=CALL, tool="bash", arguments=arguments, model_call_id=ask),
        ],
        [events.ToolStarted(call_id=CALL, boot_id="b")],
        [
            events.ToolReturned(call_id=CALL, output="whole"),
            ModelCallStarted(call_id=again, model="m"),
        ],
    ):
        store.append(sent.conversation_id, *entries, lease=claimed.lease)
    said = [
        events.UsageRecorded(call_id=again, model="m"),
        events.MessageSpoken(call_id=again, text=DONE),
    ]
    turn_end.end_turn(claimed.lease, said, TurnOutcome("finished", "answered"), steps=2)
    return ObservedConversation(sent.conversation_id)


def promises(observed: ObservedConversation, **effects: int) -> set[str]:
    """The promises that the oracle finds broken."""
    counted = Counter(EFFECTS | {name.replace("_", "."): n for name, n in effects.items()})
    return {breach.promise for breach in oracle.judge(observed, SCRIPT, counted)}


def test_oracle_finds_nothing_wrong_in_a_sound_conversation(observed):
    assert promises(observed) == set()


def test_oracle_counts_effects_in_the_sandbox(observed):
    assert promises(observed, m_begun=2) == {"D3"}
    assert promises(observed, m_ended=0) == {"D2"}
    assert promises(observed, other=1) == {"D3"}


def test_oracle_finds_a_call_without_a_row(observed):
    assert oracle.judge_calls(observed, Counter(m=2)) == []
    assert oracle.judge_calls(observed, Counter(m=3))
    observed.row.model_calls.filter(pk=observed.event_data("usage.recorded")[0]["call_id"]).delete()
    assert len(oracle.judge_calls(observed, Counter(m=2))) == 2


def _write_row(observed: ObservedConversation, event: events.Event) -> None:
    """Add an event as a faulty version might: the store itself refuses an illegal status move."""
    row = observed.row
    Event.objects.create(
        conversation=row,
        seq=row.next_seq,
        type=event.type,
        source="agent",
        turn=row.turn_number,
        epoch=row.lease_epoch,
        at=timezone.now(),
        payload=json.dumps(event.payload()),
    )
    Conversation.objects.filter(pk=row.pk).update(next_seq=row.next_seq + 1)


def _lose_an_event(observed: ObservedConversation) -> None:
    Conversation.objects.filter(pk=observed.id).update(next_seq=F("next_seq") + 1)


def _write_as_a_former_worker(observed: ObservedConversation) -> None:
    Conversation.objects.filter(pk=observed.id).update(lease_epoch=0)
    _write_row(observed, events.SandboxRemoved(kept=True))


def _end_the_call_again(observed: ObservedConversation) -> None:
    _write_row(observed, events.ToolReturned(call_id=CALL, output="whole"))


def _begin_the_call_again(observed: ObservedConversation) -> None:
    _write_row(observed, events.ToolStarted(call_id=CALL, boot_id="b"))


def _answer_again(observed: ObservedConversation) -> None:
    _write_row(observed, events.MessageSpoken(call_id=uuid4().hex, text=DONE))


def _leave_a_message_waiting(observed: ObservedConversation) -> None:
    Trigger.objects.filter(conversation=observed.id).update(state="new")


def _begin_a_turn_for_the_same_message(observed: ObservedConversation) -> None:
    (first,) = observed.event_data("turn.started")
    _write_row(observed, events.TurnStarted(number=2, triggers=first["triggers"]))


@pytest.mark.parametrize(
    ("wrong", "broken"),
    [
        (_lose_an_event, "D1"),
        (_end_the_call_again, "D2"),
        (_begin_the_call_again, "D2"),
        (_answer_again, "D4"),
        (_leave_a_message_waiting, "D5"),
        (_begin_a_turn_for_the_same_message, "D5"),
        (_write_as_a_former_worker, "D7"),
    ],
)
def test_oracle_finds_each_kind_of_fault(
    observed: ObservedConversation, wrong: Callable[[ObservedConversation], None], broken: str
):
    wrong(observed)
    assert broken in promises(observed)
