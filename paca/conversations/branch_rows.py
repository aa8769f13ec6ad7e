"""The rows of branches and pull requests that follow from events of the log."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from paca import events
from paca.conversations.models import Conversation, ConversationBranch, PullRequestState
from paca.conversations.models.branches import MAX_BRANCH_CHARACTERS, MAX_URL_CHARACTERS
from paca.repositories import selectors

BranchEvent = (
    events.RepositoryCloned
    | events.RepositoryPushed
    | events.PullRequestOpened
    | events.PullRequestChanged
)


def store(event: BranchEvent, conversation_id: UUID) -> None:
    """Write the row of the branch that an event is about. A repository that is no longer linked has none.

    A helper works in the clone of the conversation that started it, so that its branches are those of that one.
    """
    if not selectors.lock_linked(event.repository_id):
        return
    changes = _changes(event)
    parents = Conversation.objects.filter(pk=conversation_id).values_list("parent_id", flat=True)
    ConversationBranch.objects.update_or_create(
        conversation_id=parents.first() or conversation_id,
        repository_id=event.repository_id,
        branch=event.branch[:MAX_BRANCH_CHARACTERS],
        defaults=changes,
    )


def _changes(event: BranchEvent) -> dict[str, Any]:
    match event:
        case events.RepositoryCloned():
            return {"base": event.commit}
        case events.RepositoryPushed():
            return {"pushed": event.commit}
        case events.PullRequestOpened():
            return {
                "base_branch": event.base[:MAX_BRANCH_CHARACTERS],
                "pr_number": event.number,
                "pr_url": event.url[:MAX_URL_CHARACTERS],
                "state": PullRequestState.OPEN,
            }
        case events.PullRequestChanged():
            return {
                "pr_number": event.number,
                "pr_url": event.url[:MAX_URL_CHARACTERS],
                "state": event.state,
            }
