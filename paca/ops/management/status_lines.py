"""The lines in which ``up`` and ``run_worker`` report each part as it starts."""

from django.core.management.base import BaseCommand


class StatusLines(BaseCommand):
    """A command that prints one line for each part."""

    def print_done(self, part: str, meaning: str) -> None:
        """Report a part that works."""
        self.stdout.write(f"{self.style.SUCCESS('✓')} {part:<12} {meaning}")

    def print_todo(self, part: str, meaning: str) -> None:
        """Report a part that works not or not fully; the start goes on."""
        self.stdout.write(f"{self.style.WARNING('!')} {part:<12} {meaning}")
