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


def test_every_live_event_of_the_catalogue_is_one_it_knows():
    live = {name for name, kind in events.EVENT_TYPES.items() if not kind.durable}
    assert live == set(STREAMED)


def test_pieces_that_follow_one_another_become_one():
    streams = LiveTextMerger()
    assert all(streams.add(piece) for piece in (text(0, "Good "), text(5, "morn"), text(9, "ing")))
    assert pieces(streams) == [("c1", 0, "Good morning")]
    assert not streams


def test_what_was_shown_is_not_shown_again():
    streams = LiveTextMerger()
    streams.add(text(0, "Good "))
    streams.take()
    assert streams.add(text(0, "Good morning"))
    assert pieces(streams) == [("c1", 5, "morning")]
    assert streams.add(text(0, "Good morning"))
    assert not streams


def test_a_piece_without_the_one_before_is_held_back_and_asked_for():
    streams = LiveTextMerger()
    assert not streams.add(text(7, "morning"))
    assert not streams
    assert streams.add(text(0, "Good, good morning"))
    assert pieces(streams) == [("c1", 0, "Good, good morning")]


def test_of_a_very_long_text_the_repeated_tail_is_taken_as_it_is():
    streams = LiveTextMerger()
    assert not streams.add(text(90_000, "the end"))
    assert streams.add(text(40_000, "x" * 50_000 + "the end"))
    ((_call, offset, words),) = pieces(streams)
    assert (offset, len(words)) == (40_000, 50_007)


def test_the_tail_of_a_commands_output_is_shown_where_it_stands():
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
def test_a_stored_message_ends_its_live_text_also_what_comes_late(ending):
    streams = LiveTextMerger()
    streams.add(text(0, "Good "))
    streams.end(ending.type, ending.call_id)
    assert not streams
    assert streams.add(text(5, "morning"))
    assert streams.add(text(0, "Good morning"))
    assert not streams


def test_a_result_ends_the_live_output_of_its_call_only():
    streams = LiveTextMerger()
    streams.add(output(0, "a", call="t1"))
    streams.add(output(0, "b", call="t2"))
    streams.add(text(0, "c"))
    streams.end(events.ToolReturned.type, "t1")
    assert pieces(streams) == [("t2", 0, "b"), ("c1", 0, "c")]


def test_calls_at_once_are_kept_apart():
    streams = LiveTextMerger()
    for n in range(5):
        streams.add(output(n, str(n), call="t1"))
        streams.add(output(n, str(n), call="t2"))
    assert pieces(streams) == [("t1", 0, "01234"), ("t2", 0, "01234")]


def test_what_waits_for_a_viewer_who_does_not_read_is_bounded():
    streams = LiveTextMerger()
    asked = 0
    for n in range(800):
        for call in range(100):
            asked += not streams.add(text(n * 100, "x" * 100, call=f"c{call}"))
    waiting = sum(len(words) for _call, _offset, words in pieces(streams))
    assert waiting <= 64 * MAX_PENDING_CHARACTERS
    assert asked  # what was dropped is asked for again


@given(data=st.data(), whole=st.text(min_size=1, max_size=80))
def test_however_a_text_is_cut_repeated_and_merged_the_page_reads_it_once(data, whole):
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
