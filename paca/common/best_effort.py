"""Lets an optional part fail without failing the run: the failure is logged and counted."""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger(__name__)
failures: Counter[str] = Counter()


@contextmanager
def tolerated(part: str, **facts: str) -> Iterator[None]:
    """Run the block. If it raises an exception, log and count it under ``part`` and go on.

    ``facts`` are fields of the log record.

    Cancellation is not caught: ``asyncio.CancelledError`` is not an ``Exception``.
    """
    try:
        yield
    except Exception:  # an optional part never fails a run, whatever it raises
        failures[part] += 1
        logger.exception("an optional part failed", extra={"part": part, **facts})
