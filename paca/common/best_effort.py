"""Lets an optional part fail without the run: logged and counted, never raised."""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger(__name__)
failures: Counter[str] = Counter()


@contextmanager
def tolerated(part: str) -> Iterator[None]:
    """Run the block; if it fails, log and count it under ``part`` and go on.

    Cancellation passes: ``asyncio.CancelledError`` is no ``Exception``.
    """
    try:
        yield
    except Exception:  # the one place that may: an optional part never fails a run
        failures[part] += 1
        logger.exception("an optional part failed", extra={"part": part})
