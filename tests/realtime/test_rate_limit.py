"""The limit of frames a second on a socket."""

import pytest

from paca.realtime import base_consumer
from paca.realtime.base_consumer import FRAMES_PER_SECOND, RateLimited, TokenBucket
from tests.support.fake_clock import FakeClock


def test_token_bucket_allows_twenty_frames_at_once_and_no_more():
    with FakeClock():
        bucket = TokenBucket()
        for _ in range(FRAMES_PER_SECOND):
            bucket.take()
        with pytest.raises(RateLimited):
            bucket.take()


def test_empty_token_bucket_refills_at_twenty_a_second_up_to_twenty():
    with FakeClock() as clock:
        bucket = TokenBucket()
        for _ in range(FRAMES_PER_SECOND):
            bucket.take()
        clock.advance(0.06)
        bucket.take()
        with pytest.raises(RateLimited):
            bucket.take()
        clock.advance(3600)
        for _ in range(base_consumer.FRAMES_PER_SECOND):
            bucket.take()
        with pytest.raises(RateLimited):
            bucket.take()
