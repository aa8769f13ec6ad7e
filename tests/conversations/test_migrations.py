"""Migrations keep the rows of conversations, and the triggers and indexes of the database."""

import contextlib
import functools
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connections, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from tests.support.migrated_database import copy_to

ALIAS = "migrated"
OLD_VERSION = "0010_claims_stay_quick"
STATUS_COLUMNS = {
    **{"Turn": "status", "ModelCall": "status", "ToolCall": "state"},
    **{"Sandbox": "state", "Trigger": "state"},
}
RENAMED_FIELDS = {"takeovers": "lost_workers", "place": "pid_namespace"}


@pytest.fixture
def database(tmp_path, django_db_setup, django_db_blocker) -> Iterator[Any]:
    """The connection of an empty SQLite database of its own."""
    # Not the mark ``django_db``: it allows only the databases of the settings.
    settings = {**connections.databases["default"]}
    settings |= {"ENGINE": "django.db.backends.sqlite3", "NAME": tmp_path / "db.sqlite3"}
    settings["OPTIONS"] = {}
    connections.databases[ALIAS] = settings
    with django_db_blocker.unblock():
        yield connections[ALIAS]
        connections[ALIAS].close()
    del connections[ALIAS], connections.databases[ALIAS]


@contextlib.contextmanager
def former_migrations() -> Iterator[None]:
    """Only the migrations of a version before some of them were replaced by one."""
    load_disk = MigrationLoader.load_disk

    def load_former(loader: Any) -> None:
        load_disk(loader)
        found = loader.disk_migrations
        gone = {key for key, migration in found.items() if migration.replaces}
        while gone:
            for key in gone:
                del found[key]
            gone = {key for key, newer in found.items() if not found.keys() >= own(newer)}

    with mock.patch.object(MigrationLoader, "load_disk", load_former):
        yield


def own(migration: Any) -> set[tuple[str, str]]:
    """What a migration depends on in Paca's own apps."""
    apps = {"accounts", "projects", "agents", "conversations", "realtime"}
    return {key for key in migration.dependencies if key[0] in apps and key[1] != "__first__"}


def migrate(version: str = "") -> None:
    """Migrate to this version of ``conversations`` and what it needs; without one, to the newest of all."""
    target = ["conversations", version] if version else []
    call_command("migrate", *target, database=ALIAS, verbosity=0)


def apps_of(*targets: tuple[str, str]) -> Any:
    loader = MigrationExecutor(connections[ALIAS]).loader
    return loader.project_state(list(targets) or loader.graph.leaf_nodes()).apps


def create_one_of_each_kind(apps: Any) -> None:
    def create(label: str, kind: str, /, **columns: object) -> Any:
        return apps.get_model(label, kind).objects.using(ALIAS).create(**columns)

    def add(kind: str, /, **columns: object) -> Any:
        return create("conversations", kind, **columns)

    now = timezone.now()
    workspace = create("projects", "Workspace", name="Harbor")
    project = create("projects", "Project", workspace=workspace, name="Harbor")
    agent = create("agents", "Agent", project=project, name="Ada", handle="ada", model="m")
    role = create("projects", "Role", project=project, name="Member")
    member = create("projects", "Member", project=project, role=role, kind="agent", agent=agent)
    session = add("ChatSession", agent=agent, member=member)
    conversation = add(
        "Conversation",
        project=project,
        agent=agent,
        session=session,
        trigger_type="chat_message",
        status="running",
    )
    of = {"conversation": conversation}
    blob = add("Blob", sha256="0" * 64, body="{}")
    worker = add("Worker", id="w", pid=1, process_started="1", concurrency=1, heartbeat_at=now)
    add("Turn", number=1, started_at=now, **of)
    add("Event", seq=1, type="agent.message.spoken", source="agent", at=now, blob=blob, **of)
    add("Trigger", kind="chat_message", source="api", idempotency_key="k", event_seq=1, **of)
    add("ModelCall", id=uuid4(), turn=1, model="m", epoch=1, started_at=now, **of)
    add("ToolCall", id=uuid4(), turn=1, tool="bash", effect="any", epoch=1, called_at=now, **of)
    add("Sandbox", backend="docker", boot_id="a", last_used_at=now, **of)
    add("ReadySandbox", volume="v", worker=worker)


def rows(apps: Any) -> dict[str, list[dict[str, Any]]]:
    models = apps.get_app_config("conversations").get_models()
    return {model.__name__: list(model.objects.using(ALIAS).values()) for model in models}


def partial_indexes() -> dict[str, str]:
    with connections[ALIAS].cursor() as cursor:
        cursor.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql LIKE '% WHERE %'"
            " AND tbl_name LIKE 'conversations_%'"
        )
        return dict(cursor.fetchall())


def schema(file: Path) -> dict[str, list[str]]:
    """Columns and foreign keys of each table, and the statement of each index and trigger."""
    # Names that Django makes up end in a number that depends on the table's former columns.
    made_up = re.compile(r"_[0-9a-f]{8}(_[a-z]+)?\b")
    with contextlib.closing(sqlite3.connect(file)) as connection:
        found: dict[str, list[str]] = {}
        for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master"):
            if kind == "table":
                columns = connection.execute(f"PRAGMA table_info('{name}')").fetchall()
                keys = connection.execute(f"PRAGMA foreign_key_list('{name}')").fetchall()
                checks = re.findall(r'CONSTRAINT "(\w+)" (?:CHECK|UNIQUE)', sql)
                facts = [column[1:] for column in columns] + [key[2:] for key in keys] + checks
                found[name] = sorted(map(str, facts))
            elif sql:
                found[made_up.sub("", name)] = [made_up.sub("", sql)]
    return found


def assert_refuses(law: str, write: Callable[[], object]) -> None:
    with pytest.raises(IntegrityError, match=law), transaction.atomic(using=ALIAS):
        write()


@pytest.mark.sqlite
def test_migrations_keep_rows_triggers_and_partial_indexes(database, tmp_path):
    with former_migrations():
        migrate(OLD_VERSION)
        old_apps = apps_of(("conversations", OLD_VERSION))
    create_one_of_each_kind(old_apps)
    before, indexes = rows(old_apps), partial_indexes()
    assert {kind: len(found) for kind, found in before.items()} == dict.fromkeys(before, 1)
    assert {"conversation_claim", "trigger_new", "conversation_has_one_running_turn"} <= {*indexes}

    migrate()
    copy_to(tmp_path / "new.sqlite3")
    assert schema(tmp_path / "db.sqlite3") == schema(tmp_path / "new.sqlite3")
    apps = apps_of()
    after = rows(apps)
    for kind, [row] in before.items():
        kept = {RENAMED_FIELDS.get(name, name): value for name, value in row.items()}
        assert kept.items() <= after[kind][0].items(), kind
    assert indexes.items() <= partial_indexes().items()

    def objects(kind: str) -> Any:
        return apps.get_model("conversations", kind).objects.using(ALIAS)

    assert_refuses(
        "conversation_moves_as_allowed", lambda: objects("Conversation").update(status="queued")
    )
    assert_refuses("event_log_only_grows", lambda: objects("Event").update(seq=2))
    assert_refuses("event_log_is_kept", objects("Event").all().delete)
    for kind, column in STATUS_COLUMNS.items():
        change = functools.partial(objects(kind).update, **{column: "any"})
        assert_refuses("is_known", change)
