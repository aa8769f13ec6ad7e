"""The outbox of hints: what goes at once, and what waits a moment for more."""

import threading

import pytest

from paca.bus.redis import publisher
from paca.bus.redis.publisher import Outbox

FIRST, SECOND, THIRD = ("PUBLISH", "a"), ("PUBLISH", "b"), ("EVAL", "c")


@pytest.fixture
def taken(monkeypatch):
    """Takes one batch in a thread, of an outbox that would wait a minute for more to send."""
    monkeypatch.setattr(publisher, "LINGER_SECONDS", 60)
    found = []

    def take(outbox):
        thread = threading.Thread(target=lambda: found.append(outbox.take(60)), daemon=True)
        thread.start()
        return lambda: (thread.join(20), found)[1]

    return take


def test_trigger_is_sent_at_once_with_what_waits_before_it(taken):
    outbox = Outbox()
    batches = taken(outbox)
    outbox.put(FIRST)
    outbox.put(THIRD, urgent=True)
    assert batches() == [[FIRST, THIRD]]


def test_trigger_in_a_full_outbox_is_sent_at_once(taken):
    outbox = Outbox()
    outbox.put(THIRD, urgent=True)
    assert taken(outbox)() == [[THIRD]]


def test_announcements_of_one_commit_are_one_batch(monkeypatch):
    monkeypatch.setattr(publisher, "LINGER_SECONDS", 0)
    outbox = Outbox()
    outbox.put(FIRST)
    outbox.put_newest("topic", "kind", 1, SECOND)
    assert outbox.take(0) == [FIRST, SECOND]
    assert outbox.take(0) == []


def test_outbox_that_is_stopped_sends_what_waits_at_once(taken):
    outbox = Outbox()
    outbox.put(FIRST)
    batches = taken(outbox)
    outbox.stop_waiting()
    assert batches() == [[FIRST]]
