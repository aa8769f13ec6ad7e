"""Django's ``migrate``, which says what to use on an installation that was never started."""

from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS

from paca.common.errors import ConfigurationError
from paca.conversations import search_index
from paca.ops import database_state


class Command(migrate.Command):
    """Applies migrations. ``up`` does it by itself, with a lock against other processes."""

    def run_from_argv(self, argv: list[str]) -> None:
        """Look at the installation before Django's checks, which open the database.

        Raises ``ConfigurationError`` if it was never started, or if the database cannot be used.
        """
        if settings.PACA_KEYS.unsaved:
            raise ConfigurationError(
                "this installation was never started: it has no secrets, and perhaps no folder for its database.",
                next_step="run `manage.py up --prepare-only`, which creates folder, secrets, tables, the first "
                "admin and a demo project; `manage.py up` also starts Paca.",
            )
        database_state.read_migration_state()
        super().run_from_argv(argv)

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate, then make conversations of former versions searchable."""
        super().handle(*args, **options)
        partial = options["app_label"] or options["plan"] or options["check_unapplied"]
        if not partial and options["database"] == DEFAULT_DB_ALIAS:
            search_index.add_missing()
