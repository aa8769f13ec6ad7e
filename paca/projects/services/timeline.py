"""Entries of the timelines of tasks and docs. Only this module adds any; nothing changes one."""

from collections.abc import Iterable
from uuid import UUID

from paca.projects.models import Activity, Doc, Member, Task

Change = dict[str, str | None]

# The words of a long text that an entry keeps of it.
MAX_WORDS_CHARACTERS = 300


def record(
    subject: Task | Doc,
    kind: str,
    *,
    actor: Member | None,
    changes: Iterable[Change] = (),
    conversation_id: UUID | None = None,
) -> Activity:
    """Add an entry to the timeline of a task or a doc, in the caller's transaction.

    Without ``conversation_id`` it names the conversation in which the actor acts, if there is one.
    """
    return Activity.objects.create(
        project_id=subject.project_id,
        task=subject if isinstance(subject, Task) else None,
        doc=subject if isinstance(subject, Doc) else None,
        kind=kind,
        actor=actor,
        changes=list(changes),
        conversation_id=conversation_id or _conversation_of(actor),
    )


def record_for_tasks(
    tasks: Iterable[Task], kind: str, *, actor: Member | None, changes: Iterable[Change]
) -> None:
    """Add the same entry to the timelines of many tasks, in the caller's transaction."""
    told = list(changes)
    Activity.objects.bulk_create(
        (
            Activity(
                project_id=task.project_id,
                task=task,
                kind=kind,
                actor=actor,
                changes=told,
                conversation_id=_conversation_of(actor),
            )
            for task in tasks
        ),
        batch_size=500,
    )


def change_of(field: str, old: str | None, new: str | None) -> Change:
    """One change as an entry names it. Of a long text it keeps the beginning."""
    return {"field": field, "old": _shorten(old), "new": _shorten(new)}


def _conversation_of(actor: Member | None) -> UUID | None:
    return None if actor is None else actor.acting_in


def _shorten(words: str | None) -> str | None:
    if words is None or len(words) <= MAX_WORDS_CHARACTERS:
        return words
    return words[: MAX_WORDS_CHARACTERS - 1] + "…"
