"""The oracle finds nothing in a sound conversation, and each thing that can be wrong with one."""

from collections import Counter
from collections.abc import Callable
from uuid import uuid4

import pytest
from django.db.models import F

from paca import events
from paca.conversations import services, store
from paca.conversations.models import Conversation, Trigger
from paca.engine.ports import ModelCallStarted
from paca.engine.run import TurnOutcome
from paca.worker import turn_end
from paca.worker.claim import claim
from tests.chaos import oracle
from tests.chaos.stories import DONE, Story, leaves
from tests.support.flow import ObservedConversation
from tests.support.model_script import calls, says
from tests.support.world import make_world

pytestmark = pytest.mark.django_db(transaction=True)

STORY = Story("m", [says("I begin.") + calls(bash=leaves("m")), says(DONE)])
EFFECTS = {"m.begun": 1, "m.ended": 1}
CALL = uuid4().hex


@pytest.fixture
def told() -> ObservedConversation:
    """A conversation that was carried out as its story says."""
    made = make_world()
    sent = services.start_chat(made.agent, text=STORY.opening, by=made.owner)
    (claimed,) = claim("w", lease_seconds=60, limit=1)
    ask, again = uuid4().hex, uuid4().hex
    arguments = {"command": leaves("m")}
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


def promises(told: ObservedConversation, **effects: int) -> set[str]:
    """Which ones the oracle finds broken."""
    counted = Counter(EFFECTS | {name.replace("_", "."): n for name, n in effects.items()})
    return {breach.promise for breach in oracle.judge(told, STORY, counted)}


def test_oracle_finds_nothing_wrong_in_a_sound_conversation(told):
    assert promises(told) == set()


def test_oracle_counts_effects_in_the_sandbox(told):
    assert promises(told, m_begun=2) == {"D3"}
    assert promises(told, m_ended=0) == {"D2"}
    assert promises(told, other=1) == {"D3"}


def _lose_an_event(told: ObservedConversation) -> None:
    Conversation.objects.filter(pk=told.id).update(next_seq=F("next_seq") + 1)


def _write_as_a_former_worker(told: ObservedConversation) -> None:
    Conversation.objects.filter(pk=told.id).update(lease_epoch=0)
    store.append(told.id, events.SandboxRemoved(kept=True))


def _end_the_call_again(told: ObservedConversation) -> None:
    store.append(told.id, events.ToolReturned(call_id=CALL, output="whole"))


def _begin_the_call_again(told: ObservedConversation) -> None:
    store.append(told.id, events.ToolStarted(call_id=CALL, boot_id="b"))


def _answer_again(told: ObservedConversation) -> None:
    store.append(told.id, events.MessageSpoken(call_id=uuid4().hex, text=DONE))


def _leave_a_message_waiting(told: ObservedConversation) -> None:
    Trigger.objects.filter(conversation=told.id).update(state="new")


def _begin_a_turn_for_the_same_message(told: ObservedConversation) -> None:
    (first,) = told.event_data("turn.started")
    store.append(told.id, events.TurnStarted(number=2, triggers=first["triggers"]))


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
    told: ObservedConversation, wrong: Callable[[ObservedConversation], None], broken: str
):
    wrong(told)
    assert broken in promises(told)
