"""Decides whether a command has passed the limit of a workspace whose space is counted."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from paca.sandbox.runner.disk_usage import Usage

GROWTH_SLACK_BYTES = 1 << 20
GROWTH_SLACK_FILES = 256
# Space that disappeared and that no count explains must stay away for so long: others give theirs back.
UNEXPLAINED_SECONDS = 3.0
UNEXPLAINED_CHECKS = 3


class DiskLimit:
    """The limit of a workspace: ``size`` in bytes, and the number of ``files``.

    Only growth passes it: deleting files must stay possible.
    """

    def __init__(self, size: int, files: int) -> None:
        self._size = size
        self._files = files
        self._last: Usage | None = None
        self._size_before = 0  # the last one before more disappeared than is allowed
        self._unexplained_since = 0.0
        self._unexplained_checks = 0

    def is_passed(self, usage: Usage, now: float) -> bool:
        """Whether more is stored than allowed, by this measurement at the time ``now`` in seconds."""
        before, self._last = self._last, usage
        if usage.proved > self._size:
            self._unexplained_checks = 0
            return before is None or usage.proved > before.proved + GROWTH_SLACK_BYTES
        if usage.files > self._files:
            return before is None or usage.files > before.files + GROWTH_SLACK_FILES
        if usage.size > self._size:
            return self._stays_unexplained(usage, before, now)
        self._unexplained_checks = 0
        return False

    def _stays_unexplained(self, usage: Usage, before: Usage | None, now: float) -> bool:
        if self._unexplained_checks == 0:
            self._size_before = 0 if before is None else before.size
            self._unexplained_since = now
        self._unexplained_checks += 1
        if (
            self._unexplained_checks < UNEXPLAINED_CHECKS
            or now - self._unexplained_since < UNEXPLAINED_SECONDS
        ):
            return False
        self._unexplained_checks = 0
        return usage.size > self._size_before + GROWTH_SLACK_BYTES
