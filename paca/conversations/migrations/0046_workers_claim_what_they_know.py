"""Workers say their version, and a trigger of the database keeps a conversation from workers that are too old for it.

The claim of a worker before these versions does not look at ``least_worker``. The trigger lets it change no row, as if
another worker had been faster.

On SQLite a later migration that rebuilds the table of conversations drops the trigger, and one that rebuilds the table
of workers is refused as long as the trigger names it: call ``remove`` before both, and ``install`` after them.
"""

from django.db import migrations, models

NAME = "conversation_is_claimed_by_a_worker_that_knows_it"
IS_CLAIM = """NEW.least_worker IS NOT NULL AND NEW.lease_owner <> '' AND NEW.lease_epoch <> OLD.lease_epoch"""
IS_TOO_OLD = """EXISTS (SELECT 1 FROM conversations_worker w
            WHERE w.id = NEW.lease_owner AND w.version < NEW.least_worker)"""
SQLITE = [
    f"""CREATE TRIGGER {NAME} BEFORE UPDATE OF lease_epoch
        ON conversations_conversation FOR EACH ROW WHEN {IS_CLAIM} AND {IS_TOO_OLD}
        BEGIN SELECT RAISE(IGNORE); END""",
]
POSTGRESQL = [
    f"""CREATE FUNCTION {NAME}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF {IS_TOO_OLD} THEN RETURN NULL; END IF;
            RETURN NEW;
        END $$""",
    f"""CREATE TRIGGER {NAME} BEFORE UPDATE OF lease_epoch ON conversations_conversation
        FOR EACH ROW WHEN ({IS_CLAIM}) EXECUTE FUNCTION {NAME}()""",
]


def install(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)


def remove(apps, schema_editor):
    sqlite = schema_editor.connection.vendor == "sqlite"
    schema_editor.execute(
        f"DROP TRIGGER IF EXISTS {NAME}" if sqlite else f"DROP FUNCTION {NAME} CASCADE"
    )


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0023_agents_have_a_network"),
        ("conversations", "0045_people_ask_for_files"),
        ("projects", "0016_projects_have_a_network"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="least_worker",
            field=models.PositiveSmallIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="conversation",
            name="queued_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="worker",
            name="version",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("status__in", ["running", "waiting"])),
                fields=["project", "lease_until"],
                name="conversation_at_work",
            ),
        ),
        migrations.RunPython(install, remove),
    ]
