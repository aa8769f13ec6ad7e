"""Services for descriptions that an agent suggests and a person keeps or discards."""

from django.db import transaction

from paca.common.errors import Conflict, NotFound
from paca.conversations.models import Conversation, Suggestion, SuggestionState
from paca.projects.models import Member, Task
from paca.projects.services import tasks
from paca.projects.signals import project_changed


class SuggestionDecided(Conflict):
    """This suggestion was kept or discarded before."""

    code = "suggestion_decided"


def store(current: Conversation, task: Task, text: str, *, turn: int) -> None:
    """Store the answer of a turn as the suggestion of its conversation. An empty one changes nothing."""
    if not text.strip():
        return
    Suggestion.objects.update_or_create(
        conversation=current,
        defaults={
            "task": task,
            "turn": turn,
            "text": text,
            "state": SuggestionState.OPEN,
            "decided_by": None,
        },
    )
    _tell_pages(task)


def newest(task: Task) -> Suggestion:
    """The newest suggestion for the task. Raises ``NotFound`` if there is none."""
    found = Suggestion.objects.filter(task=task, conversation__deleted_at=None)
    suggestion = found.select_related("conversation__agent").first()
    if suggestion is None:
        raise NotFound("No agent has written a description of this task.")
    return suggestion


def lock_newest(task: Task) -> Suggestion:
    """The newest suggestion for the task, locked until the commit. Raises ``NotFound`` if there is none."""
    rows = Suggestion.objects.select_for_update(of=("self",), no_key=True)
    return rows.select_related("conversation__agent").get(pk=newest(task).pk)


@transaction.atomic
def keep(
    task: Task, *, by: Member, text: str | None = None, seen: Suggestion | None = None
) -> Suggestion:
    """Make the newest suggestion, or the ``text`` that a person made of it, the description of the task.

    ``seen``: the suggestion of ``lock_newest`` that is meant, also if a newer one is stored meanwhile. To keep it again changes nothing. Raises ``NotFound`` if there is none, ``SuggestionDecided`` if it
    is discarded, and ``Invalid`` if the text is too long.
    """
    suggestion = seen or lock_newest(task)
    if _decide(suggestion, SuggestionState.KEPT, by=by):
        tasks.change(task, by=by, description=suggestion.text if text is None else text)
        _tell_pages(task)
    return suggestion


@transaction.atomic
def discard(task: Task, *, by: Member, seen: Suggestion | None = None) -> Suggestion:
    """Leave the description as it is. To discard again changes nothing. ``seen`` is as for ``keep``.

    Raises ``NotFound`` if there is no suggestion, and ``SuggestionDecided`` if it is kept.
    """
    suggestion = seen or lock_newest(task)
    if _decide(suggestion, SuggestionState.DISCARDED, by=by):
        _tell_pages(task)
    return suggestion


def _decide(suggestion: Suggestion, state: SuggestionState, *, by: Member) -> bool:
    """Move a locked suggestion to this state; False if it has it already."""
    if suggestion.state == state:
        return False
    # guard: suggestion-decided-once
    if suggestion.state != SuggestionState.OPEN:
        raise SuggestionDecided(f"This suggestion is {suggestion.state} already.")
    suggestion.state, suggestion.decided_by = state, by
    suggestion.save(update_fields=["state", "decided_by", "updated_at"])
    return True


def _tell_pages(task: Task) -> None:
    project_changed.send(
        sender=Suggestion, project_id=task.project_id, noun="suggestion", id=task.number
    )
