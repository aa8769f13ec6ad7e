"""Full-text search over the tasks, docs, comments and conversations of a project, and its index."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet

from paca.common.text import to_storable
from paca.projects import search_words
from paca.projects.models import Comment, Doc, Project, SearchEntry, SearchKind, Task
from paca.projects.search_words import Piece

# PostgreSQL refuses the words of a text from one megabyte on. This much fits in any script.
MAX_INDEXED_CHARACTERS = 100_000
MAX_TITLE_CHARACTERS = 300
# Ranks are computed for the newest matches only: a word that nearly everything has costs no more.
MAX_RANKED = 2000
MAX_HITS = 50
REBUILD_BATCH = 200

# The permission that shows what a hit opens.
READS = {
    SearchKind.TASK: "tasks:read",
    SearchKind.DOC: "docs:read",
    SearchKind.CONVERSATION: "conversations:read",
}
Searchable = Task | Doc | Comment

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


def index(thing: Searchable, *, with_comments: bool = False) -> None:
    """Put a task, doc or comment into the index, or its present words. Deleted things leave it.

    Call it in the transaction of the change. ``with_comments`` also puts the comments of a restored task
    or doc back. A thing and its comments leave the index together.
    """
    if thing.deleted_at is not None:
        remove(thing)
        return
    _store([_entry_of(thing)])
    if with_comments and not isinstance(thing, Comment):
        comments = thing.comments.live().select_related("task", "doc")
        _store([_entry_of(comment) for comment in comments])


def index_conversation(
    project_id: UUID, conversation_id: UUID, *, title: str, text: str = ""
) -> None:
    """Put the title and the searchable text of a conversation into the index."""
    about = SearchKind.CONVERSATION
    entry = _entry(project_id, about, conversation_id, about, str(conversation_id), title, text)
    _store([entry])


def extend_conversation(project_id: UUID, conversation_id: UUID, *, title: str, text: str) -> None:
    """Put the present title of a conversation into the index, and ``text`` behind what it has there.

    A conversation whose words fill the index costs no more, however long it becomes.
    """
    entries = SearchEntry.objects.filter(kind=SearchKind.CONVERSATION, object_id=conversation_id)
    known = entries.values_list("title", "text").first()
    before = known[1] if known else ""
    is_full = len(before) >= MAX_INDEXED_CHARACTERS
    if known and known[0] == title[:MAX_TITLE_CHARACTERS] and (is_full or not text):
        return
    whole = before if is_full else "\n\n".join(part for part in (before, text) if part)
    index_conversation(project_id, conversation_id, title=title, text=whole)


def remove(thing: Searchable) -> None:
    """Take a task, doc or comment out of the index, with the comments on it."""
    entries = SearchEntry.objects.filter(project_id=thing.project_id)
    if isinstance(thing, Comment):
        entries.filter(kind=SearchKind.COMMENT, object_id=thing.pk).delete()
    else:
        about, place = _place_of(thing)
        entries.filter(about=about, place=place).delete()


def remove_conversation(conversation_id: UUID) -> None:
    """Take a conversation out of the index."""
    SearchEntry.objects.filter(kind=SearchKind.CONVERSATION, object_id=conversation_id).delete()


def rebuild() -> int:
    """Make the entries of all tasks, docs and comments again; gives how many there are.

    People can write and search meanwhile: each batch locks its rows, so that it stores no older words
    than their own services do.
    """
    count = 0
    sources: tuple[tuple[SearchKind, QuerySet[Any]], ...] = (
        (SearchKind.TASK, Task.objects.filter(deleted_at=None)),
        (SearchKind.DOC, Doc.objects.filter(deleted_at=None)),
        (SearchKind.COMMENT, _comments_in_place()),
    )
    for kind, rows in sources:
        entries = SearchEntry.objects.filter(kind=kind)
        entries.exclude(object_id__in=rows.values("pk")).delete()
        count += sum(_rebuild_batch(rows, batch) for batch in _batches(rows))
    return count


def _rebuild_batch(rows: QuerySet[Any], keys: list[UUID]) -> int:
    with transaction.atomic():
        batch = rows.filter(pk__in=keys).select_for_update(of=("self",), no_key=True)
        entries = [_entry_of(thing) for thing in batch]
        _store(entries)
    return len(entries)


def _batches(rows: QuerySet[Any]) -> Iterable[list[UUID]]:
    keys = list(rows.order_by("pk").values_list("pk", flat=True))
    return (keys[i : i + REBUILD_BATCH] for i in range(0, len(keys), REBUILD_BATCH))


def _comments_in_place() -> QuerySet[Comment]:
    """Comments that are not deleted, on tasks and docs that are not deleted."""
    live = Comment.objects.live().select_related("task", "doc")
    return live.filter(task__deleted_at=None, doc__deleted_at=None)


# --- finding ------------------------------------------------------------------------------------


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


# --- entries ------------------------------------------------------------------------------------


def _entry_of(thing: Searchable) -> SearchEntry:
    about, place = _place_of(thing)
    if isinstance(thing, Comment):
        return _entry(thing.project_id, SearchKind.COMMENT, thing.pk, about, place, "", thing.text)
    text = thing.description if isinstance(thing, Task) else thing.text
    return _entry(thing.project_id, about, thing.pk, about, place, thing.title, text)


def _place_of(thing: Searchable | None) -> tuple[SearchKind, str]:
    if isinstance(thing, Comment):
        return _place_of(thing.task or thing.doc)
    assert thing is not None  # guaranteed by comment_is_on_one_task_or_one_doc
    if isinstance(thing, Task):
        return SearchKind.TASK, str(thing.number)
    return SearchKind.DOC, str(thing.pk)


def _entry(
    project_id: UUID,
    kind: SearchKind,
    object_id: UUID,
    about: SearchKind,
    place: str,
    title: str,
    text: str,
) -> SearchEntry:
    title = to_storable(title[:MAX_TITLE_CHARACTERS])
    text = to_storable(text[:MAX_INDEXED_CHARACTERS])
    return SearchEntry(
        project_id=project_id,
        kind=kind,
        object_id=object_id,
        about=about,
        place=place,
        title=title,
        text=text,
        title_words=search_words.fold(title),
        text_words=search_words.fold(text),
    )


def _store(entries: list[SearchEntry]) -> None:
    SearchEntry.objects.bulk_create(
        entries,
        update_conflicts=True,
        unique_fields=["kind", "object_id"],
        update_fields=["place", "title", "text", "title_words", "text_words", "updated_at"],
    )
