"""The identity of this installation, among others on the same machine, daemon or data directory."""

import secrets
from collections.abc import Callable

from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from paca.accounts.models import Installation

IDENTITY_MIGRATION = ("accounts", "0004_installations_have_an_identity")


def can_store_identity() -> bool:
    """Whether the database has the column for the identity.

    Raises Django's ``DatabaseError`` if the database does not answer. The caller must not make up an
    identity then: the files of the conversations are found only with the stored one.
    """
    return IDENTITY_MIGRATION in MigrationRecorder(connection).applied_migrations()


def get_or_create_identity(*, default: Callable[[], str]) -> str:
    """The identity, the same for all processes and for ever: it is stored in the database.

    The first caller sets it to ``default()``, or to a random value if that is empty.
    """
    stored = Installation.objects.exclude(identity="").values_list("identity", flat=True)
    if (found := stored.first()) is not None:
        return found
    identity = default() or secrets.token_hex(6)
    Installation.objects.get_or_create(only=True)
    # Changes nothing if another process has set the identity in the meantime.
    Installation.objects.filter(identity="").update(identity=identity)
    return stored.get()
