"""The migrations and secrets in the database, and whether this version of Paca can use them."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from paca.common.errors import ConfigurationError
from paca.ops import database_check, database_rights


@dataclass(frozen=True, slots=True)
class MigrationState:
    """How many migrations are applied, and how many of this version are still pending."""

    applied: int
    pending: int

    @property
    def is_current(self) -> bool:
        """Whether the tables are those of this version, so that queries work."""
        return self.pending == 0


def read_migration_state() -> MigrationState:
    """Read which migrations are applied. Changes nothing.

    Raises ``ConfigurationError`` if this version cannot use the database: it cannot be opened, belongs
    to another program or to a newer version, or does not let us create tables.
    """
    try:
        # Opening an SQLite file that does not exist would create it.
        if not database_check.exists():
            return MigrationState(applied=0, pending=len(MigrationLoader(None).graph.nodes))
        return _read()
    except (DatabaseError, OSError) as error:
        raise ConfigurationError(
            f"the database {database_check.display_name()} cannot be used: {error}.",
            next_step=database_check.restore_hint(),
        ) from error
    finally:
        connection.close()


def _read() -> MigrationState:
    tables = connection.introspection.table_names()
    if MigrationRecorder.Migration._meta.db_table in tables:
        database_rights.check_table_rights()
    loader = MigrationLoader(connection)
    if tables and not _belongs_to_paca(tables, loader):
        raise ConfigurationError(
            f"the database {database_check.display_name()} belongs to another program.",
            next_step=database_check.choose_another_hint(),
        )
    unknown = sorted(
        f"{app}.{name}"
        for app, name in set(loader.applied_migrations) - set(loader.disk_migrations)
        if app in loader.migrated_apps
    )
    if unknown:
        raise ConfigurationError(
            f"the database {database_check.display_name()} was used by a newer Paca ({unknown[-1]} is unknown here).",
            next_step="update the code (git pull), or restore a backup from before the update.",
        )
    missing = set(loader.graph.nodes) - set(loader.applied_migrations)
    if missing and not database_check.may_create_tables():
        user = connection.settings_dict["USER"]
        raise ConfigurationError(
            f"{user} may not create tables in the database {database_check.display_name()}.",
            next_step=f"allow it, as an administrator there: GRANT CREATE ON SCHEMA public TO {user};",
        )
    if missing and tables:
        database_rights.check_table_rights(to_migrate=True)
    database_rights.check_writable()
    return MigrationState(applied=len(loader.applied_migrations), pending=len(missing))


def _belongs_to_paca(tables: list[str], loader: MigrationLoader) -> bool:
    """Another Django program has the same migrations table, and may share some apps with Paca."""
    if MigrationRecorder.Migration._meta.db_table not in tables:
        return False
    applied = {app for app, _ in loader.applied_migrations}
    return "accounts" in applied or applied <= loader.migrated_apps


def check_encryption_key() -> None:
    """Check that every model key in the database can be decrypted: of agents, of their fallbacks, and lent ones.

    Raises ``ConfigurationError`` that names the first key which cannot.
    """
    from paca.agents import encryption

    for name, encrypted in _model_keys():
        try:
            encryption.decrypt(encrypted)
        except encryption.SecretUnreadable as error:
            raise ConfigurationError(
                f"ENCRYPTION_KEY cannot decrypt the secrets in this database: {name} cannot be read.",
                next_step=f"restore the previous key (as ENCRYPTION_KEY, or as {settings.PACA_DATA_DIR}/encryption_key).",
            ) from error


def _model_keys() -> Iterator[tuple[str, str]]:
    """What each encrypted model key is called, and the key."""
    from paca.agents.models import Agent, ModelKey

    for column, name in (
        ("encrypted_key", "the model key of @{}"),
        ("fallback_encrypted_key", "the key of the fallback model of @{}"),
    ):
        for handle, encrypted in Agent.objects.exclude(**{column: ""}).values_list(
            "handle", column
        ):
            yield name.format(handle), encrypted
    for row in ModelKey.objects.select_related("user", "project"):
        owner = row.user or row.project or "the server"
        yield f"the key of {row.provider} that {owner} lends", row.encrypted_key


def admin_has_a_password() -> bool:
    """Whether an active administrator has a password."""
    from paca.accounts.models import User

    admins = User.objects.filter(is_superuser=True, is_active=True)
    return admins.exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX).exists()


def agents_with_a_real_model() -> int:
    """How many agents use a model other than the scripted demo model."""
    from paca.agents.models import Agent

    return sum(not agent.is_demo for agent in Agent.objects.live())
