"""What an agent notes in its memory or its project's: at once, or for a person to decide, as the policies say."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from paca import events
from paca.common.errors import Conflict, Invalid
from paca.conversations.memory_lists import MemoryOwner
from paca.conversations.models import MemoryEntry, MemoryState
from paca.conversations.services import memory
from paca.engine.context.memory import SHORT_ID
from paca.projects.models import Member, MemoryPolicy

MAX_WAITING = 20
# By the memory's ``about``. What an agent notes about the project others read, as they read a doc.
PERMISSIONS = {"agent": "conversations:write", "project": "docs:write"}
SWITCHED_OFF = "Nothing was noted: people have switched this memory off."


class TooManyWaiting(Conflict):
    """Nothing was noted: as many entries as can wait for a person do so. Go on without."""

    code = "memory_waiting_full"


@dataclass(frozen=True, slots=True)
class Noted:
    """What became of a note, in words for the model, and the event that tells it; None if nothing changed."""

    said: str
    event: events.MemoryWritten | None = None


def policy(owner: MemoryOwner, agent_policy: str) -> str:
    """The policy for what an agent notes: the stricter one of the agent and, for its memory, the project."""
    policies = [agent_policy] if owner.agent is not None else [agent_policy, owner.project.memory]
    # guard: memory-stricter-policy-counts
    return next(each for each in ("off", "ask", "on") if each in policies)


@transaction.atomic
def note(
    owner: MemoryOwner,
    *,
    text: str,
    by: Member,
    conversation_id: UUID,
    replaces: str = "",
) -> Noted:
    """Note what the agent ``by`` writes; ``replaces`` is the beginning of the id of the entry whose place it takes.

    Without a text that entry is taken out. Where the policy asks, all of it waits for a person. Raises ``Invalid`` if
    the text or the id is not valid, or people keep the entry as it is, and ``TooManyWaiting``.
    """
    memory.lock(owner)
    assert by.agent is not None
    decided_by_people = policy(owner, by.agent.memory)
    if decided_by_people == MemoryPolicy.OFF:
        raise Invalid(SWITCHED_OFF)
    old = _find(owner, replaces, by) if replaces.strip() else None
    waits = decided_by_people == MemoryPolicy.ASK
    if not text.strip():
        if old is None:
            raise Invalid("Nothing was noted: write a text, or name the entry to take out.")
        return _take_out(owner, old, by, conversation_id, waits=waits)
    text = memory.checked_text(owner, text)
    same = memory.find_same(owner, text)
    if same is not None and not (same == old and same.state == MemoryState.WAITING):
        return Noted(_said_of(same))
    return _write(owner, text, old, by, conversation_id, waits=waits)


def _write(
    owner: MemoryOwner,
    text: str,
    old: MemoryEntry | None,
    by: Member,
    conversation_id: UUID,
    *,
    waits: bool,
) -> Noted:
    if old is not None and old.state == MemoryState.WAITING:
        before, old.text = old.text, text  # its own, which nobody has decided
        memory.save(old)
        memory.record(owner, "memory.noted", old, by=by)
        return Noted(f"Changed {_short(old)}; it still waits.", _event(owner, old, before))
    entry = MemoryEntry(**owner.columns, text=text, author=by, conversation_id=conversation_id)
    before = "" if old is None else old.text
    # guard: memory-of-agents-waits
    if waits:
        said = _wait(owner, entry, old)
    else:
        displaced = memory.store_accepted(owner, entry, instead_of=old)
        said = f"Noted as {_short(entry)}, for later conversations."
        if displaced:
            said += f" The memory was full: the oldest {displaced} went."
    memory.record(owner, "memory.noted", entry, by=by)
    return Noted(said, _event(owner, entry, before))


def _take_out(
    owner: MemoryOwner, old: MemoryEntry, by: Member, conversation_id: UUID, *, waits: bool
) -> Noted:
    event = events.MemoryWritten(
        entry=str(old.pk),
        about=owner.about,
        text="",
        state=MemoryState.WAITING if waits else MemoryState.ACCEPTED,
        replaces=old.text,
    )
    if old.state == MemoryState.WAITING or not waits:
        memory.record(owner, "memory.taken_out", old, by=by)
        memory.remove(old)
        return Noted("Taken out.", event)
    if old.replacements.filter(text="").exists():
        return Noted("A person has not decided yet whether it is taken out.")
    entry = MemoryEntry(**owner.columns, author=by, conversation_id=conversation_id)
    said = _wait(owner, entry, old)
    memory.record(owner, "memory.noted", entry, by=by)
    return Noted(said, event)


def _wait(owner: MemoryOwner, entry: MemoryEntry, old: MemoryEntry | None) -> str:
    # guard: memory-few-entries-wait
    if owner.entries.waiting().count() >= MAX_WAITING:
        raise TooManyWaiting
    entry.state, entry.replaces = MemoryState.WAITING, old
    memory.save(entry)
    return f"A person decides about it ({_short(entry)}). Until then it is in no memory; go on."


def _find(owner: MemoryOwner, short_id: str, by: Member) -> MemoryEntry:
    """The entry with this beginning of its id. Raises ``Invalid`` if there is none that the agent may replace."""
    wanted = short_id.strip().strip("[]").lower()
    found = [each for each in owner.entries.shown() if str(each.pk).startswith(wanted)]
    # What waits is seen by people and its author only.
    found = [each for each in found if each.state != MemoryState.WAITING or each.author == by]
    if len(found) != 1 or len(wanted) < SHORT_ID:
        raise Invalid(f"Nothing was noted: this memory has no entry {wanted[:40]}.")
    # guard: memory-pinned-is-of-people
    if found[0].pinned:
        raise Invalid(
            "Nothing was noted: a person has pinned this entry, and only people change it."
        )
    # guard: memory-that-a-person-has-changed-waits-as-it-is
    if found[0].state == MemoryState.WAITING and found[0].checked_by_id is not None:
        raise Invalid(
            "Nothing was noted: a person has changed this entry, and decides about it as it is."
        )
    return found[0]


def _said_of(same: MemoryEntry) -> str:
    match same.state:
        case MemoryState.WAITING:
            return "A person has not decided yet about the same note."
        case MemoryState.REFUSED:
            return "A person has refused the same note. It was not noted."
    return f"It is noted already, as {_short(same)}."


def _event(owner: MemoryOwner, entry: MemoryEntry, before: str) -> events.MemoryWritten:
    return events.MemoryWritten(
        entry=str(entry.pk),
        about=owner.about,
        text=entry.text,
        state=entry.state,
        replaces=before,
    )


def _short(entry: MemoryEntry) -> str:
    return str(entry.pk)[:SHORT_ID]
