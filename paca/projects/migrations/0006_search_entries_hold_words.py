"""Entries of the search index hold folded words, and the database keeps an index of these words.

SQLite has an FTS5 table whose content is the table of entries; triggers keep it up to date. A later
migration that rebuilds the table of entries drops the triggers and has to ``install`` them again.
PostgreSQL has a generated column with a GIN index.
"""

from django.db import migrations, models
from django.db.models import Q

SQLITE = [
    """CREATE VIRTUAL TABLE projects_search USING fts5(
        title_words, text_words, content='projects_searchentry', content_rowid='id',
        tokenize='unicode61 remove_diacritics 2', prefix='2 3 4')""",
    "INSERT INTO projects_search(projects_search) VALUES ('rebuild')",
    """CREATE TRIGGER search_entry_inserted AFTER INSERT ON projects_searchentry BEGIN
        INSERT INTO projects_search(rowid, title_words, text_words)
        VALUES (new.id, new.title_words, new.text_words); END""",
    """CREATE TRIGGER search_entry_deleted AFTER DELETE ON projects_searchentry BEGIN
        INSERT INTO projects_search(projects_search, rowid, title_words, text_words)
        VALUES ('delete', old.id, old.title_words, old.text_words); END""",
    """CREATE TRIGGER search_entry_updated AFTER UPDATE ON projects_searchentry
        WHEN old.title_words <> new.title_words OR old.text_words <> new.text_words BEGIN
        INSERT INTO projects_search(projects_search, rowid, title_words, text_words)
        VALUES ('delete', old.id, old.title_words, old.text_words);
        INSERT INTO projects_search(rowid, title_words, text_words)
        VALUES (new.id, new.title_words, new.text_words); END""",
]
SQLITE_BACK = [
    "DROP TRIGGER IF EXISTS search_entry_inserted",
    "DROP TRIGGER IF EXISTS search_entry_deleted",
    "DROP TRIGGER IF EXISTS search_entry_updated",
    "DROP TABLE projects_search",
]
POSTGRESQL = [
    """ALTER TABLE projects_searchentry ADD COLUMN words tsvector NOT NULL GENERATED ALWAYS AS (
        setweight(to_tsvector('simple', title_words), 'A')
        || setweight(to_tsvector('simple', text_words), 'D')) STORED""",
    "CREATE INDEX search_entry_words ON projects_searchentry USING gin (words)",
]
POSTGRESQL_BACK = ["ALTER TABLE projects_searchentry DROP COLUMN words"]


def empty(apps, schema_editor):
    """Entries without words find nothing. ``manage.py rebuild_search`` makes them again."""
    apps.get_model("projects", "SearchEntry").objects.using(schema_editor.connection.alias).delete()


def install(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)


def remove(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    for statement in SQLITE_BACK if vendor == "sqlite" else POSTGRESQL_BACK:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("projects", "0005_prefixes_are_unique")]

    operations = [
        migrations.RunPython(empty, migrations.RunPython.noop),
        migrations.AddField(
            "searchentry", "about", models.CharField(default="", max_length=20), False
        ),
        migrations.AddField("searchentry", "title_words", models.TextField(blank=True)),
        migrations.AddField("searchentry", "text_words", models.TextField(blank=True)),
        migrations.AddIndex(
            "searchentry",
            models.Index(fields=["project", "about", "place"], name="search_entry_of_place"),
        ),
        migrations.AddConstraint(
            "searchentry",
            models.CheckConstraint(
                name="search_hit_opens_a_place",
                condition=Q(about__in=["task", "doc", "conversation"]),
            ),
        ),
        migrations.RunPython(install, remove),
    ]
