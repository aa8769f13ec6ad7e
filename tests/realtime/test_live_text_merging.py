"""What waits for one viewer of live text: merged, shown once, never without its beginning, bounded."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paca import events
from paca.realtime.live_text import MAX_PENDING_CHARACTERS, STREAMED, LiveTextMerger


def text(offset: int, words: str, call: str = "c1") -> dict[str, Any]:
    event = events.TextStreamed(call_id=call, offset=offset, text=words)
    return {"type": event.type, "seq": None, "source": "agent", "data": event.payload()}


def output(offset: int, words: str, call: str = "t1") -> dict[str, Any]:
    event = events.ToolProgressed(call_id=call, offset=offset, text=words)
    return {"type": event.type, "seq": None, "source": "agent", "data": event.payload()}


def pieces(streams: LiveTextMerger) -> list[tuple[str, int, str]]:
    return [(f["data"]["call_id"], f["data"]["offset"], f["data"]["text"]) for f in streams.take()]


def test_merger_knows_every_live_event_of_the_catalogue():
    live = {name for name, kind in events.EVENT_TYPES.items() if not kind.durable}
    assert live == set(STREAMED)


def test_merger_joins_consecutive_frames_of_a_call():
    streams = LiveTextMerger()
    assert all(streams.add(piece) for piece in (text(0, "Good "), text(5, "morn"), text(9, "ing")))
    assert pieces(streams) == [("c1", 0, "Good morning")]
    assert not streams


def test_merger_does_not_repeat_text_that_was_sent():
    streams = LiveTextMerger()
    streams.add(text(0, "Good "))
    streams.take()
    assert streams.add(text(0, "Good morning"))
    assert pieces(streams) == [("c1", 5, "morning")]
    assert streams.add(text(0, "Good morning"))
    assert not streams


def test_merger_refuses_a_frame_after_a_gap():
    streams = LiveTextMerger()
    assert not streams.add(text(7, "morning"))
    assert not streams
    assert streams.add(text(0, "Good, good morning"))
    assert pieces(streams) == [("c1", 0, "Good, good morning")]


def test_merger_accepts_the_repeated_tail_of_a_very_long_text():
    streams = LiveTextMerger()
    assert not streams.add(text(90_000, "the end"))
    assert streams.add(text(40_000, "x" * 50_000 + "the end"))
    ((_call, offset, words),) = pieces(streams)
    assert (offset, len(words)) == (40_000, 50_007)


def test_merger_accepts_gaps_in_the_output_of_a_command():
    streams = LiveTextMerger()
    assert streams.add(output(1000, "last line\n"))
    assert pieces(streams) == [("t1", 1000, "last line\n")]


@pytest.mark.parametrize(
    "ending",
    [
        events.MessageSpoken(text="Good morning", call_id="c1"),
        events.MessageDiscarded(call_id="c1", cause="cut"),
    ],
)
def test_stored_event_ends_the_live_text_of_its_call_also_late_frames(ending):
    streams = LiveTextMerger()
    streams.add(text(0, "Good "))
    streams.end(ending.type, ending.call_id)
    assert not streams
    assert streams.add(text(5, "morning"))
    assert streams.add(text(0, "Good morning"))
    assert not streams


def test_tool_result_ends_only_the_live_output_of_its_call():
    streams = LiveTextMerger()
    streams.add(output(0, "a", call="t1"))
    streams.add(output(0, "b", call="t2"))
    streams.add(text(0, "c"))
    streams.end(events.ToolReturned.type, "t1")
    assert pieces(streams) == [("t2", 0, "b"), ("c1", 0, "c")]


def test_merger_keeps_simultaneous_calls_apart():
    streams = LiveTextMerger()
    for n in range(5):
        streams.add(output(n, str(n), call="t1"))
        streams.add(output(n, str(n), call="t2"))
    assert pieces(streams) == [("t1", 0, "01234"), ("t2", 0, "01234")]


def test_merger_bounds_the_text_that_waits_for_a_slow_viewer():
    streams = LiveTextMerger()
    asked = 0
    for n in range(800):
        for call in range(100):
            asked += not streams.add(text(n * 100, "x" * 100, call=f"c{call}"))
    waiting = sum(len(words) for _call, _offset, words in pieces(streams))
    assert waiting <= 64 * MAX_PENDING_CHARACTERS
    assert asked  # what was dropped is asked for again


@given(data=st.data(), whole=st.text(min_size=1, max_size=80))
def test_merger_gives_each_character_once_however_the_text_is_cut_and_repeated(data, whole):
    streams = LiveTextMerger()
    page, said = "", 0
    while said < len(whole):
        if data.draw(st.booleans(), "repeat"):
            streams.add(text(0, whole[:said]))
        more = data.draw(st.integers(1, len(whole) - said), "more")
        assert streams.add(text(said, whole[said : said + more]))
        said += more
        if data.draw(st.booleans(), "send"):
            for _call, offset, words in pieces(streams):
                assert offset == len(page)
                page += words
    for _call, offset, words in pieces(streams):
        assert offset == len(page)
        page += words
    assert page == whole
