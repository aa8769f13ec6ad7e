"""Full-text search over the tasks, docs, comments and conversations of a project."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from paca.projects import search_words
from paca.projects.models import Project, SearchEntry, SearchKind
from paca.projects.search_words import Piece

# Ranks are computed for the newest matches only: a word that nearly everything has costs no more.
MAX_RANKED = 2000
MAX_HITS = 50

# The permission that shows what a hit opens.
READS = {
    SearchKind.TASK: "tasks:read",
    SearchKind.DOC: "docs:read",
    SearchKind.CONVERSATION: "conversations:read",
}

SQLITE = """
    SELECT entry.id FROM projects_search
    JOIN projects_searchentry entry ON entry.id = projects_search.rowid
    WHERE projects_search MATCH %s AND entry.project_id = %s
        AND entry.kind IN ({kinds}) AND entry.about IN ({abouts})
    ORDER BY bm25(projects_search, 8.0, 1.0), entry.id DESC LIMIT %s"""
POSTGRESQL = """
    WITH matches AS MATERIALIZED (
        SELECT id, words FROM projects_searchentry
        WHERE words @@ to_tsquery('simple', %s) AND project_id = %s
            AND kind IN ({kinds}) AND about IN ({abouts})
        ORDER BY id DESC LIMIT {max_ranked}
    )
    SELECT id FROM matches
    ORDER BY ts_rank(words, to_tsquery('simple', %s), 1) DESC, id DESC LIMIT %s"""


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that a search found. It opens the task, doc or conversation that it is ``about``.

    ``place`` is the task's number, or the id of the doc or conversation; ``title`` is its title.
    """

    kind: str
    object_id: UUID
    about: str
    place: str
    title: str
    snippet: list[Piece]
    updated_at: datetime


def find(
    project: Project,
    words: str,
    kinds: Collection[str] | None = None,
    *,
    may: Callable[[str], bool],
    limit: int = 20,
) -> list[Hit]:
    """What has all the words, or longer words that begin with them, the best first; at most 50.

    The task that ``words`` name by key or number comes first. ``kinds`` limits the result to these
    ``SearchKind``; ``may`` tells whether the reader has a permission: only what they may read is found.
    """
    wanted = sorted(set(SearchKind.values if kinds is None else kinds))
    abouts = [about.value for about, permission in READS.items() if may(permission)]
    parsed = search_words.parse(words)
    if not parsed or not wanted or not abouts:
        return []
    limit = min(limit, MAX_HITS)
    readable = SearchEntry.objects.filter(project=project, kind__in=wanted, about__in=abouts)
    entries = _named_task(readable, words)
    ids = _find_ids(project, parsed, wanted, abouts, limit)
    by_id = readable.in_bulk(ids)
    named = {entry.pk for entry in entries}
    entries += [by_id[pk] for pk in ids if pk in by_id and pk not in named]
    return _to_hits(entries[:limit], parsed)


def _named_task(readable: QuerySet[SearchEntry], words: str) -> list[SearchEntry]:
    number = search_words.task_number(words)
    if number is None:
        return []
    return list(readable.filter(kind=SearchKind.TASK, place=str(number)))


def _find_ids(
    project: Project, parsed: list[str], kinds: list[str], abouts: list[str], limit: int
) -> list[int]:
    is_sqlite = connection.vendor == "sqlite"
    query = _sqlite_query(parsed) if is_sqlite else _postgresql_query(parsed)
    sql = (SQLITE if is_sqlite else POSTGRESQL).format(
        kinds=", ".join(["%s"] * len(kinds)),
        abouts=", ".join(["%s"] * len(abouts)),
        max_ranked=MAX_RANKED,
    )
    project_id = Project._meta.pk.get_db_prep_value(project.pk, connection)
    parameters = [query, project_id, *kinds, *abouts, *([] if is_sqlite else [query]), limit]
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return [row[0] for row in cursor.fetchall()]


def _sqlite_query(parsed: list[str]) -> str:
    """Folded words have letters and digits only, so that none is an operator within its quotes."""
    return " ".join(f'"{word}"{"*" if search_words.is_prefix(word) else ""}' for word in parsed)


def _postgresql_query(parsed: list[str]) -> str:
    phrases = []
    for word in parsed:
        *before, last = (f"'{part}'" for part in word.split())
        suffix = ":*" if search_words.is_prefix(word) else ""
        phrases.append("(" + " <-> ".join([*before, last + suffix]) + ")")
    return " & ".join(phrases)


def _to_hits(entries: list[SearchEntry], parsed: list[str]) -> list[Hit]:
    titles = _titles([entry for entry in entries if entry.kind == SearchKind.COMMENT])
    # A comment may be written while its task is being deleted. It is found again with the task.
    entries = [
        entry
        for entry in entries
        if entry.kind != SearchKind.COMMENT or (entry.about, entry.place) in titles
    ]
    return [
        Hit(
            kind=entry.kind,
            object_id=entry.object_id,
            about=entry.about,
            place=entry.place,
            title=titles.get((entry.about, entry.place), entry.title),
            snippet=search_words.make_snippet(entry.text, parsed),
            updated_at=entry.updated_at,
        )
        for entry in entries
    ]


def _titles(comments: list[SearchEntry]) -> dict[tuple[str, str], str]:
    """The titles of what these comments are on."""
    if not comments:
        return {}
    found = SearchEntry.objects.filter(
        project_id=comments[0].project_id,
        about__in={comment.about for comment in comments},
        place__in={comment.place for comment in comments},
    ).exclude(kind=SearchKind.COMMENT)
    rows = found.values_list("about", "place", "title")
    return {(about, place): title for about, place, title in rows}
