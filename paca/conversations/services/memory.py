"""Services of the memory: what people add, change, accept, refuse and delete, and what an agent notes.

All writes of a project's memories come one after another, by the lock of the project's row: so two workers that
write at once keep the size of a memory.
"""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from paca.accounts import audit
from paca.common.errors import Conflict, Invalid
from paca.common.secret_removal import text_without_secrets
from paca.conversations import known_secrets, memory_lists, memory_texts
from paca.conversations.memory_lists import MemoryOwner
from paca.conversations.models import MemoryEntry, MemoryState
from paca.projects.models import Member, Project
from paca.projects.signals import project_changed

logger = logging.getLogger(__name__)


class MemoryDuplicate(Conflict):
    """This memory has an entry of the same text. Change or pin that one."""

    code = "memory_duplicate"


class MemoryFull(Conflict):
    """Pinned entries take half of this memory already, and new ones need the rest. Unpin or delete one of them."""

    code = "memory_full"


class NotWaiting(Conflict):
    """This entry waits for nobody: it was decided already."""

    code = "memory_decided"


def lock(owner: MemoryOwner) -> None:
    """Lock the memories of the project until the commit."""
    Project.objects.select_for_update(no_key=True).only("pk").get(pk=owner.project.pk)


@transaction.atomic
def add(owner: MemoryOwner, *, text: str, by: Member, pinned: bool = False) -> MemoryEntry:
    """Add what a person writes. A waiting entry of the same text is accepted, a refused one comes back.

    Raises ``Invalid`` if the text is empty, too long or holds a secret, ``MemoryDuplicate`` and ``MemoryFull``.
    """
    lock(owner)
    text = checked_text(owner, text)
    entry = find_same(owner, text) or MemoryEntry(**owner.columns, author=by)
    if entry.state == MemoryState.ACCEPTED:
        raise MemoryDuplicate
    if entry.state == MemoryState.REFUSED:
        entry.author, entry.conversation, entry.checked_by = by, None, None
    elif entry.state == MemoryState.WAITING:
        entry.checked_by = by
    entry.text, entry.pinned = text, pinned
    store_accepted(owner, entry)
    record(owner, "memory.added", entry, by=by)
    return entry


@transaction.atomic
def change(
    owner: MemoryOwner,
    entry: MemoryEntry,
    *,
    by: Member,
    text: str | None = None,
    pinned: bool | None = None,
) -> MemoryEntry:
    """Change the text of an entry, also of one that waits, or pin it so that it stays when the memory is full.

    Raises what ``add`` raises, and ``Invalid`` too if an entry that is not in the memory shall be pinned, or one without
    a text shall have one.
    """
    lock(owner)
    if text is not None and not entry.text:
        raise Invalid(fields={"text": ["It takes an entry out, and has no text of its own."]})
    if pinned and entry.state != MemoryState.ACCEPTED:
        raise Invalid(fields={"pinned": ["Only what is in the memory can be pinned."]})
    changed = []
    if text is not None and (written := checked_text(owner, text)) != entry.text:
        _take_fingerprint(owner, entry, written)
        entry.text, entry.checked_by = written, by
        changed.append("text")
        # Who decides about a replacement must see what it replaces now.
        # guard: memory-replacement-is-decided-as-it-was-seen
        entry.replacements.update(updated_at=timezone.now())
    if pinned is not None and pinned != entry.pinned:
        entry.pinned = pinned
        changed.append("pinned")
    if changed:
        if entry.state == MemoryState.ACCEPTED:
            store_accepted(owner, entry)
        else:
            save(entry)
        record(owner, "memory.changed", entry, by=by, fields=changed)
    return entry


@transaction.atomic
def accept(owner: MemoryOwner, entry: MemoryEntry, *, by: Member) -> MemoryEntry | None:
    """Take a waiting entry into the memory; None if it only took another one out.

    Raises ``NotWaiting``.
    """
    lock(owner)
    _require_waiting(entry)
    record(owner, "memory.accepted", entry, by=by)
    replaced, entry.replaces = entry.replaces, None
    entry.checked_by = by
    if not entry.text:
        if replaced is not None:
            remove(replaced)  # and the entry with it
        return None
    if replaced is not None:
        entry.pinned = replaced.pinned
    store_accepted(owner, entry, instead_of=replaced)
    return entry


@transaction.atomic
def refuse(owner: MemoryOwner, entry: MemoryEntry, *, by: Member) -> None:
    """Keep a waiting entry out of the memory, also if the agent notes the same text again.

    Raises ``NotWaiting``.
    """
    lock(owner)
    _require_waiting(entry)
    record(owner, "memory.refused", entry, by=by)
    if not entry.text:
        entry.delete()
        return
    entry.state, entry.replaces, entry.checked_by = MemoryState.REFUSED, None, by
    save(entry)
    _forget_old_refusals(owner)


@transaction.atomic
def delete(owner: MemoryOwner, entry: MemoryEntry, *, by: Member) -> None:
    """Delete an entry. What was written to replace it stays, as an entry of its own."""
    lock(owner)
    record(owner, "memory.deleted", entry, by=by)
    remove(entry)


def forget_agent(agent_id: UUID) -> None:
    """Delete the memory of an agent that is removed."""
    MemoryEntry.objects.filter(agent=agent_id).delete()


def forget_project(project_id: UUID) -> None:
    """Delete the memory of a project that is deleted; those of its agents go with them."""
    MemoryEntry.objects.filter(project=project_id).delete()


# --- for these services, and for those of what agents note --------------------------------------

MAX_ENTRIES = 100  # each also takes its id, date and author in the prompt
MAX_REFUSED = 50


def checked_text(owner: MemoryOwner, text: str) -> str:
    """The text as it is stored. Raises ``Invalid`` if it is empty, too long or holds a secret that Paca knows."""
    cleaned = memory_texts.clean(text)
    secrets = known_secrets.of_project(owner.project.pk)
    # guard: memory-holds-no-secret
    if text_without_secrets(cleaned, secrets) != cleaned:
        fact = (
            "This holds a key or password that Paca knows. Memory is plain text: write it without."
        )
        raise Invalid(fields={"text": [fact]})
    return cleaned


def find_same(owner: MemoryOwner, text: str) -> MemoryEntry | None:
    """The entry of this memory with the same words, whatever its state."""
    return owner.entries.filter(fingerprint=memory_texts.fingerprint(text)).first()


def save(entry: MemoryEntry) -> None:
    """Store an entry with the fingerprint of its text."""
    words = entry.text or f"takes out {entry.replaces_id}"
    entry.fingerprint = memory_texts.fingerprint(words)
    entry.save()


def store_accepted(
    owner: MemoryOwner, entry: MemoryEntry, *, instead_of: MemoryEntry | None = None
) -> int:
    """Store an entry as accepted, ``instead_of`` another one; gives how many old ones it has displaced.

    Raises ``MemoryFull`` if the pinned entries would take more than half.
    """
    if entry.state != MemoryState.ACCEPTED:
        entry.state, entry.accepted_at = MemoryState.ACCEPTED, timezone.now()
        entry.replaces = None
    if instead_of is not None:
        remove(instead_of)
    save(entry)
    # guard: memory-pins-take-half-at-most
    if entry.pinned and (
        memory_lists.characters(owner, pinned_only=True) > settings.MEMORY_CHARACTERS // 2
    ):
        raise MemoryFull
    return _make_room(owner, entry)


def remove(entry: MemoryEntry) -> None:
    """Delete an entry; an entry that would replace it stays as one of its own."""
    entry.replacements.exclude(text="").update(replaces=None)
    entry.delete()


def record(
    owner: MemoryOwner, action: str, entry: MemoryEntry, *, by: Member | None, **facts: Any
) -> None:
    """Write the audit trail, without the text, and tell open pages."""
    audit.record(
        action,
        owner.subject,
        by=by,
        project_id=owner.project.pk,
        entry=str(entry.pk),
        state=entry.state,
        **facts,
    )
    project_changed.send(
        sender=MemoryEntry, project_id=owner.project.pk, noun="memory", id=owner.subject.pk
    )


def _make_room(owner: MemoryOwner, newest: MemoryEntry) -> int:
    """Delete the oldest entries that are not pinned until the rest fits, in size and in number; gives how many."""
    rows = list(owner.entries.accepted().order_by("accepted_at", "pk"))
    over = sum(len(row.text) for row in rows) - settings.MEMORY_CHARACTERS
    too_many = len(rows) - MAX_ENTRIES
    removed = 0
    for row in rows:
        # guard: memory-keeps-its-size
        if over <= 0 and too_many <= removed:
            break
        if not row.pinned and row.pk != newest.pk:
            over -= len(row.text)
            remove(row)
            removed += 1
    if removed:
        audit.record(
            "memory.displaced",
            owner.subject,
            by=None,
            project_id=owner.project.pk,
            count=removed,
        )
    return removed


def _take_fingerprint(owner: MemoryOwner, entry: MemoryEntry, text: str) -> None:
    """Raises ``MemoryDuplicate`` if another entry has the text; one that was refused gives way."""
    same = find_same(owner, text)
    if same is None or same.pk == entry.pk:
        return
    if same.state != MemoryState.REFUSED:
        raise MemoryDuplicate
    same.delete()


def _require_waiting(entry: MemoryEntry) -> None:
    if entry.state != MemoryState.WAITING:
        raise NotWaiting


def _forget_old_refusals(owner: MemoryOwner) -> None:
    refused = owner.entries.filter(state=MemoryState.REFUSED).order_by("-updated_at", "-pk")
    old = list(refused.values_list("pk", flat=True)[MAX_REFUSED:])
    owner.entries.filter(pk__in=old).delete()
