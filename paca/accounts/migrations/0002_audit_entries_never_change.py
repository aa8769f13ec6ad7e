"""The database refuses to change an entry of the audit trail.

On SQLite a later migration that rebuilds the table drops the trigger and has to ``install`` it again.
"""

from django.db import migrations

SQLITE = [
    """CREATE TRIGGER audit_entry_never_changes BEFORE UPDATE ON accounts_auditentry FOR EACH ROW
        BEGIN SELECT RAISE(ABORT, 'audit_entry_never_changes'); END""",
]
POSTGRESQL = [
    """CREATE FUNCTION audit_entry_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION USING ERRCODE = 'check_violation',
                MESSAGE = 'audit_entry_never_changes';
        END $$""",
    """CREATE TRIGGER audit_entry_never_changes BEFORE UPDATE ON accounts_auditentry
        FOR EACH ROW EXECUTE FUNCTION audit_entry_never_changes()""",
]


def install(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)


def remove(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER IF EXISTS audit_entry_never_changes")
    else:
        schema_editor.execute("DROP FUNCTION audit_entry_never_changes CASCADE")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [migrations.RunPython(install, remove)]
