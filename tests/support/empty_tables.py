"""Empties the database after a transactional test: only the tables that have rows.

Django's ``flush`` empties every table and writes content types and permissions again, which takes
most of the time of a small test on PostgreSQL.
"""

from functools import cache
from typing import Any

from django.db import connections, transaction
from django.test import TransactionTestCase

# Written once by the migrations, from the code.
KEPT = {"django_content_type", "auth_permission"}
# Deleted first: the database keeps the log of a conversation that is not deleted.
FIRST = "conversations_conversation"
# The suite's PostgreSQL has no autovacuum: a table with many dead rows slows every later test.
VACUUM_BYTES = 500_000


def install() -> None:
    """From now on transactional tests end with ``empty`` instead of ``flush``."""

    def teardown(test: Any) -> None:
        for alias in test._databases_names(include_mirrors=False):
            empty(alias)

    TransactionTestCase._fixture_teardown = teardown  # type: ignore[method-assign]


def empty(alias: str) -> None:
    """Delete every row that a test may have left, whatever triggers and foreign keys say."""
    connection = connections[alias]
    with connection.cursor() as cursor:
        cursor.execute(_which_have_rows(alias))
        tables = [name for (name,) in cursor.fetchall()]
    if not tables:
        return
    deletes = [f"DELETE FROM {connection.ops.quote_name(name)}" for name in tables]
    if connection.vendor == "sqlite":
        with (
            connection.constraint_checks_disabled(),
            transaction.atomic(alias),
            connection.cursor() as cursor,
        ):
            for statement in deletes:
                cursor.execute(statement)
        return
    with transaction.atomic(alias), connection.cursor() as cursor:
        # A replica takes rows as they come: no triggers, no foreign keys.
        cursor.execute("; ".join(["SET LOCAL session_replication_role = replica", *deletes]))
    with connection.cursor() as cursor:
        for name in tables:
            cursor.execute("SELECT pg_relation_size(%s::regclass)", [name])
            if cursor.fetchone()[0] > VACUUM_BYTES:
                cursor.execute(f"VACUUM {connection.ops.quote_name(name)}")


@cache
def _which_have_rows(alias: str) -> str:
    """One query that gives the names of the tables with rows, ``FIRST`` first."""
    names = set(connections[alias].introspection.django_table_names()) - KEPT
    quote = connections[alias].ops.quote_name
    return " UNION ALL ".join(
        f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {quote(name)})"
        for name in sorted(names, key=lambda name: (name != FIRST, name))
    )
