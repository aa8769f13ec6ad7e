"""The command that makes the index of full-text search again: ``manage.py rebuild_search``."""

from typing import Any

from django.core.management.base import BaseCommand

from paca.conversations import search_index
from paca.projects import search_entries


class Command(BaseCommand):
    """Safe while people work: the index answers searches meanwhile."""

    help = "Make the search index of tasks, docs, comments and conversations again."

    def handle(self, **options: Any) -> None:
        things, conversations = search_entries.rebuild(), search_index.rebuild()
        self.stdout.write(
            f"{things} tasks, docs and comments and {conversations} conversations can be searched."
        )
