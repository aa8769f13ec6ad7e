"""The stream buffer: live text of a run, coalesced, and the output of commands at a bounded rate."""

import asyncio
import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from paca import events
from paca.common import live_output
from paca.worker.stream_buffer import StreamBuffer


class VirtualLoop:
    """Stands in for the event loop: time passes only by ``advance``."""

    def __init__(self) -> None:
        self.now = 0.0
        self._timers: list[tuple[float, asyncio.TimerHandle]] = []

    def call_later(self, delay: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(self.now + delay, callback, (), self)  # type: ignore[arg-type]
        self._timers.append((self.now + delay, handle))
        return handle

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [timer for timer in self._timers if timer[0] <= end]:
            timer = min(due, key=lambda each: each[0])
            self._timers.remove(timer)
            self.now = timer[0]
            if not timer[1].cancelled():
                timer[1]._run()
        self.now = end

    def get_debug(self) -> bool:
        return False

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass


class Viewers:
    """A bus that keeps the frames."""

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []

    def live(self, _topic: str, frame: dict[str, Any]) -> None:
        self.frames.append(frame)

    def received_bytes(self) -> int:
        return sum(len(json.dumps(frame["data"]["text"]).encode()) for frame in self.frames)

    def shown(self, call_id: str) -> str:
        """The text as a page joins it: after a gap it begins again."""
        text, end = "", 0
        for frame in self.frames:
            data = frame["data"]
            if data["call_id"] == call_id:
                known = max(0, end - data["offset"])
                text = (text if data["offset"] <= end else "") + data["text"][known:]
                end = max(end, data["offset"] + len(data["text"]))
        return text


@pytest.fixture
def loop(monkeypatch) -> VirtualLoop:
    virtual = VirtualLoop()
    monkeypatch.setattr("paca.worker.stream_buffer.asyncio.get_running_loop", lambda: virtual)
    return virtual


@pytest.fixture
def viewers() -> Viewers:
    return Viewers()


def print_for(seconds: float, line: str, buffer: StreamBuffer, loop: VirtualLoop) -> str:
    """Print 100 pieces of 100 lines a second; gives all that was printed."""
    whole = ""
    for _ in range(int(seconds * 100)):
        piece = line * 100
        buffer.add(events.ToolProgressed(call_id="t", offset=len(whole), text=piece))
        whole += piece
        loop.advance(0.01)
    return whole


@pytest.mark.parametrize("line", ["y\n", "漢字漢字\n", "\x1b[31mred\x1b[0m\n", "x" * 100, '"\\"\n'])
def test_output_reaches_viewers_at_a_bounded_rate_with_its_end_right(loop, viewers, line):
    buffer = StreamBuffer(uuid4(), viewers)
    whole = print_for(5, line, buffer, loop)
    loop.advance(5)
    assert viewers.received_bytes() <= 12 * live_output.BYTES_PER_SECOND
    shown = viewers.shown("t")
    assert whole.endswith(shown)
    assert len(shown) > live_output.MAX_TAIL_CHARACTERS // 2


def test_short_output_reaches_viewers_whole_and_at_once(loop, viewers):
    buffer = StreamBuffer(uuid4(), viewers)
    for n in range(50):
        buffer.add(events.ToolProgressed(call_id="t", offset=7 * n, text=f"tick {n:02}"))
        loop.advance(1)
        assert viewers.shown("t").endswith(f"tick {n:02}")
    assert viewers.shown("t") == "".join(f"tick {n:02}" for n in range(50))


def test_text_of_a_model_is_never_sampled(loop, viewers):
    buffer = StreamBuffer(uuid4(), viewers)
    whole = "".join(f"word {n} " for n in range(5000))
    for at in range(0, len(whole), 100):
        buffer.add(events.TextStreamed(call_id="m", offset=at, text=whole[at : at + 100]))
        loop.advance(0.001)
    loop.advance(1)
    assert viewers.shown("m") == whole


def test_late_viewer_gets_the_end_of_the_output_and_not_a_second_rate(loop, viewers):
    buffer = StreamBuffer(uuid4(), viewers)
    whole = print_for(1, "y\n", buffer, loop)
    viewers.frames.clear()
    buffer.resend()
    assert whole.endswith(viewers.shown("t"))
    assert viewers.shown("t")
    buffer.close()
    viewers.frames.clear()
    loop.advance(5)
    assert viewers.frames == []
