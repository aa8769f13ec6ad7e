"""Full-text search over the tasks, docs, comments and conversations of a project, and its index."""

from uuid import UUID

from paca.common.text import to_storable
from paca.projects.models import Comment, Doc, SearchEntry, SearchKind, Task

# PostgreSQL refuses the words of a text from one megabyte on. This much fits in any script.
MAX_INDEXED_CHARACTERS = 100_000
MAX_TITLE_CHARACTERS = 300


def index(thing: Task | Doc | Comment, *, with_comments: bool = False) -> None:
    """Put a task, doc or comment into the index, or its present words. Deleted things leave it.

    Call it in the transaction of the change. ``with_comments`` also puts the comments of a restored task
    or doc back. A thing and its comments leave the index together.
    """
    if thing.deleted_at is not None:
        remove(thing)
    else:
        _store([_entry_of(thing)])
        if with_comments and not isinstance(thing, Comment):
            _store([_entry_of(comment) for comment in _comments_of(thing)])


def index_conversation(
    project_id: UUID, conversation_id: UUID, *, title: str, text: str = ""
) -> None:
    """Put the title and the searchable text of a conversation into the index."""
    _store(
        [
            _entry(
                project_id,
                SearchKind.CONVERSATION,
                conversation_id,
                place=str(conversation_id),
                title=title,
                text=text,
            )
        ]
    )


def remove(thing: Task | Doc | Comment) -> None:
    """Take a task, doc or comment out of the index, with the comments on it."""
    entries = SearchEntry.objects.filter(project_id=thing.project_id)
    if isinstance(thing, Comment):
        entries.filter(kind=SearchKind.COMMENT, object_id=thing.pk).delete()
    else:
        kinds = [SearchKind.COMMENT, _kind_of(thing)]
        entries.filter(kind__in=kinds, place=_place_of(thing)).delete()


def remove_conversation(conversation_id: UUID) -> None:
    """Take a conversation out of the index."""
    SearchEntry.objects.filter(kind=SearchKind.CONVERSATION, object_id=conversation_id).delete()


def _entry_of(thing: Task | Doc | Comment) -> SearchEntry:
    if isinstance(thing, Comment):
        title, text, place = "", thing.text, _place_of(thing.task or thing.doc)
    elif isinstance(thing, Task):
        title, text, place = thing.title, thing.description, _place_of(thing)
    else:
        title, text, place = thing.title, thing.text, _place_of(thing)
    return _entry(thing.project_id, _kind_of(thing), thing.pk, place=place, title=title, text=text)


def _entry(
    project_id: UUID, kind: SearchKind, object_id: UUID, *, place: str, title: str, text: str
) -> SearchEntry:
    return SearchEntry(
        project_id=project_id,
        kind=kind,
        object_id=object_id,
        place=place,
        title=to_storable(title[:MAX_TITLE_CHARACTERS]),
        text=to_storable(text[:MAX_INDEXED_CHARACTERS]),
    )


def _store(entries: list[SearchEntry]) -> None:
    SearchEntry.objects.bulk_create(
        entries,
        update_conflicts=True,
        unique_fields=["kind", "object_id"],
        update_fields=["place", "title", "text", "updated_at"],
    )


def _kind_of(thing: Task | Doc | Comment) -> SearchKind:
    return {Task: SearchKind.TASK, Doc: SearchKind.DOC, Comment: SearchKind.COMMENT}[type(thing)]


def _place_of(thing: Task | Doc | None) -> str:
    assert thing is not None  # guaranteed by comment_is_on_one_task_or_one_doc
    return str(thing.number if isinstance(thing, Task) else thing.pk)


def _comments_of(thing: Task | Doc) -> list[Comment]:
    return list(thing.comments.live().select_related("task", "doc"))
