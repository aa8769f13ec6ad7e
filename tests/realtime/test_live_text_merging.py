"""Merging the live text for one viewer: each character once, no gaps, and bounded memory."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paca import events
from paca.common import live_output
from paca.realtime.live_states import STATES
from paca.realtime.live_text import MAX_PENDING_CHARACTERS, STREAMED, LiveTextMerger


def text(offset: int, words: str, call: str = "c1") -> dict[str, Any]:
    event = events.TextStreamed(call_id=call, offset=offset, text=words)
    return {"type": event.type, "seq": None, "source": "agent", "data": event.payload()}


def output(offset: int, words: str, call: str = "t1") -> dict[str, Any]:
    event = events.ToolProgressed(call_id=call, offset=offset, text=words)
    return {"type": event.type, "seq": None, "source": "agent", "data": event.payload()}


def take(merger: LiveTextMerger) -> list[tuple[str, int, str]]:
    return [(f["data"]["call_id"], f["data"]["offset"], f["data"]["text"]) for f in merger.take()]


def test_delivery_knows_every_live_event_of_the_catalogue():
    live = {name for name, kind in events.EVENT_TYPES.items() if not kind.durable}
    assert live == {*STREAMED, *STATES}


def test_merger_joins_consecutive_frames_of_a_call():
    merger = LiveTextMerger()
    assert all(merger.add(piece) for piece in (text(0, "Good "), text(5, "morn"), text(9, "ing")))
    assert take(merger) == [("c1", 0, "Good morning")]
    assert not merger


def test_merger_does_not_repeat_text_that_was_sent():
    merger = LiveTextMerger()
    merger.add(text(0, "Good "))
    merger.take()
    assert merger.add(text(0, "Good morning"))
    assert take(merger) == [("c1", 5, "morning")]
    assert merger.add(text(0, "Good morning"))
    assert not merger


def test_merger_refuses_a_frame_after_a_gap():
    merger = LiveTextMerger()
    assert not merger.add(text(7, "morning"))
    assert not merger
    assert merger.add(text(0, "Good, good morning"))
    assert take(merger) == [("c1", 0, "Good, good morning")]


def test_merger_accepts_the_repeated_tail_of_a_very_long_text():
    merger = LiveTextMerger()
    assert not merger.add(text(90_000, "the end"))
    assert merger.add(text(40_000, "x" * 50_000 + "the end"))
    ((_call, offset, words),) = take(merger)
    assert (offset, len(words)) == (40_000, 50_007)


def test_merger_accepts_gaps_in_the_output_of_a_command():
    merger = LiveTextMerger()
    assert merger.add(output(1000, "last line\n"))
    assert take(merger) == [("t1", 1000, "last line\n")]


@pytest.mark.parametrize(
    "ending",
    [
        events.MessageSpoken(text="Good morning", call_id="c1"),
        events.MessageDiscarded(call_id="c1", cause="cut"),
    ],
)
def test_stored_event_ends_the_live_text_of_its_call_also_late_frames(ending):
    merger = LiveTextMerger()
    merger.add(text(0, "Good "))
    merger.end(ending.type, ending.call_id)
    assert not merger
    assert merger.add(text(5, "morning"))
    assert merger.add(text(0, "Good morning"))
    assert not merger


def test_tool_result_ends_only_the_live_output_of_its_call():
    merger = LiveTextMerger()
    merger.add(output(0, "a", call="t1"))
    merger.add(output(0, "b", call="t2"))
    merger.add(text(0, "c"))
    merger.end(events.ToolReturned.type, "t1")
    assert take(merger) == [("t2", 0, "b"), ("c1", 0, "c")]


def test_merger_keeps_simultaneous_calls_apart():
    merger = LiveTextMerger()
    for n in range(5):
        merger.add(output(n, str(n), call="t1"))
        merger.add(output(n, str(n), call="t2"))
    assert take(merger) == [("t1", 0, "01234"), ("t2", 0, "01234")]


def test_merger_bounds_the_text_that_waits_for_a_slow_viewer():
    merger = LiveTextMerger()
    refused = 0
    for n in range(800):
        for call in range(100):
            refused += not merger.add(text(n * 100, "x" * 100, call=f"c{call}"))
    waiting = sum(len(words) for _call, _offset, words in take(merger))
    assert waiting <= 64 * MAX_PENDING_CHARACTERS
    assert refused  # text that was dropped is requested again


def test_merger_keeps_the_end_of_output_that_comes_faster_than_it_is_sent():
    merger = LiveTextMerger()
    offset, whole = 0, ""
    for n in range(5_000):
        line = f"line {n} of a long output\n"
        assert merger.add(output(offset, line))
        offset, whole = offset + len(line), whole + line
    ((_call, start, words),) = take(merger)
    assert len(words) <= live_output.MAX_TAIL_CHARACTERS
    assert whole[start:] == words
    assert words.startswith("line ")
    assert not merger


@given(data=st.data(), whole=st.text(min_size=1, max_size=80))
def test_merger_gives_each_character_once_however_the_text_is_cut_and_repeated(data, whole):
    merger = LiveTextMerger()
    page, streamed = "", 0
    while streamed < len(whole):
        if data.draw(st.booleans(), "repeat"):
            merger.add(text(0, whole[:streamed]))
        more = data.draw(st.integers(1, len(whole) - streamed), "more")
        assert merger.add(text(streamed, whole[streamed : streamed + more]))
        streamed += more
        if data.draw(st.booleans(), "send"):
            for _call, offset, words in take(merger):
                assert offset == len(page)
                page += words
    for _call, offset, words in take(merger):
        assert offset == len(page)
        page += words
    assert page == whole
