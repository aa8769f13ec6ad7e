"""The time bounds that Paca promises, and a check of them that holds on a busy machine too."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Stop closes the connection to the model.
STOP_SECONDS = 1.0
# Stop, or a timeout, ends a command with all its processes, even those that ignore TERM.
END_COMMAND_SECONDS = 2.0
# Stop ends a conversation whose sandbox does not answer.
STOP_WITHOUT_SANDBOX_SECONDS = 3.0
# A hint that Redis loses costs no more.
LATE_SECONDS = 2.0
# A page says why a sandbox ended.
EXIT_CAUSE_SECONDS = 2.0
# A worker or server that is asked to end has ended.
DRAIN_SECONDS = 30.0
# /healthz and /readyz answer, whatever else hangs.
HEALTH_SECONDS = 2.0


@contextmanager
def kept(seconds: float) -> Iterator[None]:
    """Assert that the block takes at most so many seconds.

    The time in which any process of this machine waited for a core or for a disk does not count: the
    product cannot shorten it. On a quiet machine it is next to nothing.
    """
    began, waited = time.monotonic(), seconds_waited()
    yield
    took, waited = time.monotonic() - began, seconds_waited() - waited
    assert took - waited <= seconds, f"{took:.2f} s, of which the machine was busy for {waited:.2f}"


def seconds_waited() -> float:
    """Seconds since boot in which a process could not go on for want of a core or a disk."""
    return sum(_total(resource) for resource in ("cpu", "io"))


def _total(resource: str) -> float:
    """A kernel without pressure figures leaves the plain bound."""
    pressure = Path("/proc/pressure", resource)
    if not pressure.exists():
        return 0.0
    return int(pressure.read_text().split("total=", 1)[1].split()[0]) / 1e6
