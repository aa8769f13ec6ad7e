"""Versions of workers: during an update a worker claims only conversations that it knows how to run.

Where a fact of a conversation changes how its turns have to run, and a worker that does not know the fact would do
harm, raise ``WORKER_VERSION`` and name the fact in ``version_for``. The web server that writes the fact writes the
version into ``least_worker`` of the row, and a worker of a lower version leaves the row to newer ones.
"""

from __future__ import annotations

from paca import events

# Knows helpers, teams, held work, plan mode and check-ins. Workers before it are of version 0.
FIRST_VERSION = 1
WORKER_VERSION = FIRST_VERSION  # of the workers of this code


def version_for(
    *, is_helper: bool, reads_only: bool, held: bool | None, teams: bool | None, plan: bool | None
) -> int | None:
    """The least version of a worker that knows how to run a new conversation; None if every worker does.

    The flags are those of the conversation. A teammate ``is_helper`` too.
    """
    # guard: new-work-names-its-least-worker
    return FIRST_VERSION if any((is_helper, reads_only, held, teams, plan)) else None


def version_after(event: events.Event) -> int:
    """The least version of a worker that knows what this event makes of a conversation; 0 if every worker does."""
    match event:
        case events.ConversationQueued(held=True) | events.FlagsChanged(teams=True):
            return FIRST_VERSION
        case events.FlagsChanged(plan=True):
            return FIRST_VERSION
    return 0
