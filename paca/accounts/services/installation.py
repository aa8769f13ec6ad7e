"""Which installation this is, among others that use the same machine, daemon or data folder."""

import secrets
from collections.abc import Callable

from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from paca.accounts.models import Installation

KEPT_SINCE = ("accounts", "0004_installations_have_an_identity")


def has_place() -> bool:
    """Whether the tables are made, by a version that keeps it. Raises what keeps one from looking: who
    took another name because a database was away for a moment would not find a conversation's files."""
    return KEPT_SINCE in MigrationRecorder(connection).applied_migrations()


def identity(*, known_as: Callable[[], str]) -> str:
    """The same for all its processes and for good: kept with its rows, it goes where they go.

    Whoever asks first gives it: what it is ``known_as`` already, else something new.
    """
    kept = Installation.objects.exclude(identity="").values_list("identity", flat=True)
    if (found := kept.first()) is not None:
        return found
    given = known_as() or secrets.token_hex(6)
    Installation.objects.get_or_create(only=True)
    Installation.objects.filter(identity="").update(identity=given)  # unless another was faster
    return kept.get()
