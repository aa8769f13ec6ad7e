"""Checks that this account may write to the database: a restored one is often read-only or somebody else's."""

import getpass
import sqlite3
from contextlib import closing

from django.db import connection

from paca.common.errors import ConfigurationError
from paca.ops import database_check

# The tables of ours that this account may not use, with their owners. A table of another owner can be used
# if all rights are granted, but only its owner can change its form, as migrations do.
_TABLES_WITHOUT_RIGHTS = """
SELECT relname, pg_get_userbyid(relowner) FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT (
    pg_has_role(relowner, 'USAGE') OR (
        NOT %s
        AND has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
        AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE')
    )
)
ORDER BY relname
"""
_SEQUENCES_WITHOUT_RIGHTS = """
SELECT relname, pg_get_userbyid(relowner) FROM pg_class
WHERE relnamespace = current_schema()::regnamespace
-- The function fails for what is no sequence, and PostgreSQL chooses the order of other conditions.
AND CASE WHEN relkind = 'S' THEN NOT has_sequence_privilege(oid, 'USAGE') ELSE FALSE END
ORDER BY relname
"""


def check_table_rights(*, to_migrate: bool = False) -> None:
    """Check that this account may read and write all tables, and change them if ``to_migrate``.

    Raises ``ConfigurationError`` with the owner of the tables if it may not.
    """
    if database_check.is_sqlite():
        return
    with connection.cursor() as cursor:
        cursor.execute(_TABLES_WITHOUT_RIGHTS, [to_migrate])
        found = cursor.fetchall()
        if not found:
            cursor.execute(_SEQUENCES_WITHOUT_RIGHTS)
            found = cursor.fetchall()
    if not found:
        return
    name, owner = found[0]
    user = connection.settings_dict["USER"]
    raise ConfigurationError(
        f"{user} may not {'change' if to_migrate else 'use'} {len(found)} tables of the database "
        f"{database_check.display_name()}, such as {name}: they belong to {owner}.",
        next_step=f"give them to {user}, as an administrator there: ALTER TABLE {name} OWNER TO {user}; for each, "
        f"or restore the backup again with: pg_restore --no-owner --role={user}",
    )


def check_writable() -> None:
    """Check that the database takes changes. Changes nothing.

    Raises ``ConfigurationError`` if it is read-only.
    """
    if database_check.is_sqlite():
        _check_sqlite_writable()
        return
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_read_only")
        (is_read_only,) = cursor.fetchone()
    if is_read_only == "on":
        database, user = connection.settings_dict["NAME"], connection.settings_dict["USER"]
        raise ConfigurationError(
            f"the database {database_check.display_name()} is read-only: default_transaction_read_only is on.",
            next_step="switch it off where it was set, as an administrator there: "
            f"ALTER DATABASE {database} RESET default_transaction_read_only; or ALTER ROLE {user} RESET ...",
        )


def _check_sqlite_writable() -> None:
    file = database_check.sqlite_file()
    try:
        with closing(sqlite3.connect(file, timeout=5, isolation_level=None)) as direct:
            direct.execute("BEGIN IMMEDIATE")
            # A change of a page: only this needs the files beside the database too.
            (version,) = direct.execute("PRAGMA user_version").fetchone()
            direct.execute(f"PRAGMA user_version = {int(version)}")
            direct.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            return  # somebody else writes just now
        raise ConfigurationError(
            f"the database {file} cannot be written to ({error}).",
            next_step=f"give its files and their folder to this account: chown {getpass.getuser()} {file.parent} "
            f"{file}* && chmod u+rw {file}*",
        ) from error
