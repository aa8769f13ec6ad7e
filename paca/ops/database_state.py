"""What is in the database before Paca starts on it, and whether this version can go on from there."""

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from paca.common.errors import ConfigurationError
from paca.ops import database_check


@dataclass(frozen=True, slots=True)
class Stored:
    """The state of the database: ``applied`` migrations are there, ``to_apply`` are missing."""

    applied: int
    to_apply: int

    @property
    def is_current(self) -> bool:
        """Whether its tables are the ones of this version, so that they can be asked."""
        return self.to_apply == 0


def look() -> Stored:
    """The state of the database, or the reason why this version cannot use it. Changes nothing."""
    try:
        # Opening a file that is not there would make it.
        if not database_check.is_there():
            return Stored(applied=0, to_apply=len(MigrationLoader(None).disk_migrations))
        return _read()
    except (DatabaseError, OSError) as error:
        raise ConfigurationError(
            f"the database {database_check.name()} cannot be used: {error}.",
            next_step=database_check.remedy(),
        ) from error
    finally:
        connection.close()


def _read() -> Stored:
    tables = connection.introspection.table_names()
    loader = MigrationLoader(connection)
    if tables and not _is_ours(tables, loader):
        raise ConfigurationError(
            f"the database {database_check.name()} belongs to another program.",
            next_step=database_check.another(),
        )
    unknown = sorted(
        f"{app}.{name}"
        for app, name in set(loader.applied_migrations) - set(loader.disk_migrations)
        if app in loader.migrated_apps
    )
    if unknown:
        raise ConfigurationError(
            f"the database {database_check.name()} was used by a newer Paca ({unknown[-1]} is not known here).",
            next_step="update the code (git pull), or restore a backup from before the update.",
        )
    missing = set(loader.disk_migrations) - set(loader.applied_migrations)
    if missing and not database_check.may_make_tables():
        user = connection.settings_dict["USER"]
        raise ConfigurationError(
            f"{user} may not make tables in the database {database_check.name()}.",
            next_step=f"allow it, as an administrator there: GRANT CREATE ON SCHEMA public TO {user};",
        )
    return Stored(applied=len(loader.applied_migrations), to_apply=len(missing))


def _is_ours(tables: list[str], loader: MigrationLoader) -> bool:
    """Another program may keep the same record of its migrations, and share some apps with us."""
    if MigrationRecorder.Migration._meta.db_table not in tables:
        return False
    applied = {app for app, _ in loader.applied_migrations}
    return "accounts" in applied or applied <= loader.migrated_apps


def check_encryption_key() -> None:
    """Every stored secret must be readable with the keys at hand."""
    from paca.agents import encryption
    from paca.agents.models import Agent

    stored = Agent.objects.exclude(encrypted_key="").values_list("handle", "encrypted_key")
    for handle, encrypted in stored:
        try:
            encryption.decrypt(encrypted)
        except encryption.SecretUnreadable as error:
            raise ConfigurationError(
                f"ENCRYPTION_KEY is not the one that this database was written with: "
                f"the model key of @{handle} cannot be read.",
                next_step=f"put the former key back (as ENCRYPTION_KEY, or as {settings.PACA_DATA_DIR}/encryption_key).",
            ) from error


def admin_has_a_password() -> bool:
    """Whether an administrator has chosen a password."""
    from paca.accounts.models import User

    admins = User.objects.filter(is_superuser=True, is_active=True)
    return admins.exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX).exists()


def agents_with_a_real_model() -> int:
    """How many agents answer with a model and not with the demo's script."""
    from paca.agents.models import Agent

    return sum(not agent.is_demo for agent in Agent.objects.live())
