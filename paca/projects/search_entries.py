"""The entries of the full-text search: written in the transaction of each change, and all made again."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from paca.common.text import to_storable
from paca.projects import search_words
from paca.projects.models import Comment, Doc, SearchEntry, SearchKind, Task

# PostgreSQL refuses the words of a text from one megabyte on. This much fits in any script.
MAX_INDEXED_CHARACTERS = 100_000
MAX_TITLE_CHARACTERS = 300
REBUILD_BATCH = 200

Searchable = Task | Doc | Comment


def put(thing: Searchable, *, with_comments: bool = False) -> None:
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


def put_conversation(
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
    put_conversation(project_id, conversation_id, title=title, text=whole)


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
