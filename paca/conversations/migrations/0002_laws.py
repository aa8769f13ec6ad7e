"""Triggers of the database that refuse illegal status moves of conversations and changes of the event log.

On SQLite a later migration that rebuilds one of these tables drops its triggers, and has to call
``install`` again. The tests of the triggers run on the migrated database, and fail if they are missing.
"""

from django.db import migrations

MOVES = {
    "queued": ("running", "stopped", "failed"),
    "running": ("waiting", "paused", "finished", "failed", "stopped"),
    "waiting": ("running", "paused", "stopped", "failed"),
    "paused": ("queued", "stopped"),
    "finished": ("queued",),
    "failed": ("queued",),
    "stopped": ("queued",),
}
ALLOWED = " OR ".join(
    "(OLD.status = '{}' AND NEW.status IN ({}))".format(old, ", ".join(f"'{new}'" for new in news))
    for old, news in MOVES.items()
)

SQLITE = [
    f"""CREATE TRIGGER conversation_moves_as_allowed BEFORE UPDATE OF status
        ON conversations_conversation FOR EACH ROW
        WHEN OLD.status <> NEW.status AND NOT ({ALLOWED})
        BEGIN SELECT RAISE(ABORT, 'conversation_moves_as_allowed'); END""",
    """CREATE TRIGGER event_log_only_grows BEFORE UPDATE ON conversations_event FOR EACH ROW
        BEGIN SELECT RAISE(ABORT, 'event_log_only_grows'); END""",
    """CREATE TRIGGER event_log_is_kept BEFORE DELETE ON conversations_event FOR EACH ROW
        WHEN EXISTS (SELECT 1 FROM conversations_conversation c
                     WHERE c.id = OLD.conversation_id AND c.deleted_at IS NULL)
        BEGIN SELECT RAISE(ABORT, 'event_log_is_kept'); END""",
]

POSTGRESQL = [
    f"""CREATE FUNCTION conversation_moves_as_allowed() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF OLD.status <> NEW.status AND NOT ({ALLOWED}) THEN
                RAISE EXCEPTION USING ERRCODE = 'check_violation',
                    MESSAGE = 'conversation_moves_as_allowed';
            END IF;
            RETURN NEW;
        END $$""",
    """CREATE TRIGGER conversation_moves_as_allowed BEFORE UPDATE OF status
        ON conversations_conversation FOR EACH ROW
        EXECUTE FUNCTION conversation_moves_as_allowed()""",
    """CREATE FUNCTION event_log_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'DELETE' AND NOT EXISTS (
                SELECT 1 FROM conversations_conversation c
                WHERE c.id = OLD.conversation_id AND c.deleted_at IS NULL
            ) THEN RETURN OLD; END IF;
            RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'event_log_only_grows';
        END $$""",
    """CREATE TRIGGER event_log_only_grows BEFORE UPDATE OR DELETE ON conversations_event
        FOR EACH ROW EXECUTE FUNCTION event_log_only_grows()""",
]

SQLITE_BACK = [
    "DROP TRIGGER IF EXISTS conversation_moves_as_allowed",
    "DROP TRIGGER IF EXISTS event_log_only_grows",
    "DROP TRIGGER IF EXISTS event_log_is_kept",
]
POSTGRESQL_BACK = [
    "DROP FUNCTION conversation_moves_as_allowed CASCADE",
    "DROP FUNCTION event_log_only_grows CASCADE",
]


def install(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)


def remove(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    for statement in SQLITE_BACK if vendor == "sqlite" else POSTGRESQL_BACK:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("conversations", "0001_initial")]

    operations = [migrations.RunPython(install, remove)]
