"""The lines in which ``up`` and ``run_worker`` report each part as it starts, in the format of the log."""

import logging
import sys

from django.conf import settings
from django.core.management.base import BaseCommand

from paca.common import logs


class StatusLines(BaseCommand):
    """A command that prints one line for each part."""

    def prepare_output(self) -> None:
        """Write each line at once, and warnings of Python in the format of the log."""
        sys.stdout.reconfigure(line_buffering=True, errors="replace")  # type: ignore[union-attr]
        logging.captureWarnings(True)

    def print_done(self, part: str, meaning: str) -> None:
        """Report a part that works."""
        self._print(f"{self.style.SUCCESS('✓')} {part:<12} {meaning}", "info", f"{part}: {meaning}")

    def print_todo(self, part: str, meaning: str) -> None:
        """Report a part that works not or not fully; the start goes on."""
        line = f"{self.style.WARNING('!')} {part:<12} {meaning}"
        self._print(line, "warning", f"{part}: {meaning}")

    def print_line(self, text: str) -> None:
        """Print a line that belongs to no part, or goes on with the one above."""
        self._print(text, "info", text.strip())

    def _print(self, line: str, level: str, message: str) -> None:
        as_json = logs.writes_json(settings.LOG_FORMAT)
        self.stdout.write(logs.start_line(level, message) if as_json else line)
