"""Masks the secrets in what a run stores and shows: the events of the log, and live text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

from paca.common.secret_removal import SecretMask, SecretStream, mask_of
from paca.conversations import known_secrets
from paca.conversations.models import Conversation
from paca.engine.turn import LogEntry, TurnOutcome
from paca.events import Event, ToolProgressed

E = TypeVar("E")
# What Paca makes itself, what a provider wants back unchanged, and the bytes of images.
AS_IT_IS = frozenset(
    {"call_id", "model_call_id", "boot_id", "signature", "redacted", "attached", "images"}
)
NO_SECRETS = SecretMask()


def mask_of_agent(agent_id: UUID) -> SecretMask:
    """The mask for the runs of an agent. A secret that cannot be decrypted is used by no run, so it is left out."""
    return mask_of(known_secrets.of_agent(agent_id, only_readable=True), shapes=True)


def mask_of_conversation(conversation_id: UUID) -> SecretMask:
    """The mask for a conversation's texts, as ``mask_of_agent``; of the installation's secrets if it is gone."""
    agents = Conversation.objects.filter(pk=conversation_id).values_list("agent_id", flat=True)
    agent_id = agents.first()
    if agent_id is None:
        return mask_of(known_secrets.of_installation(), shapes=True)
    return mask_of_agent(agent_id)


def masked_facts(value: E, mask: SecretMask) -> E:
    """An event, or another frozen dataclass, without the secrets in its texts; itself if it has none."""
    changed: dict[str, Any] = {}
    for name in getattr(value, "facts", None) or value.__dataclass_fields__:  # type: ignore[attr-defined]
        fact = getattr(value, name)
        if name in AS_IT_IS or not isinstance(fact, str | list | tuple | dict):
            continue
        shown = mask.pieces(fact) if isinstance(fact, str) else mask.value(fact)
        if shown is not fact and shown != fact:
            changed[name] = shown
    return replace(value, **changed) if changed else value  # type: ignore[type-var]


def masked_entries(entries: Iterable[LogEntry], mask: SecretMask) -> list[LogEntry]:
    """The entries of a log, with their events masked."""
    return [
        masked_facts(each, mask) if mask and isinstance(each, Event) else each for each in entries
    ]


def masked_outcome(outcome: TurnOutcome, mask: SecretMask) -> TurnOutcome:
    """The outcome of a turn, with the words of its error masked."""
    return masked_facts(outcome, mask)


class MaskedOutput:
    """The live output of the running calls. The beginning of a secret waits for the next piece."""

    def __init__(self, mask: SecretMask) -> None:
        self._mask = mask
        self._streams: dict[str, SecretStream] = {}

    def feed(self, event: Event) -> Event | None:
        """The event as it is shown; None if there is nothing to show yet. Text of a model is masked where it comes from."""
        if not isinstance(event, ToolProgressed) or not self._mask:
            return event
        stream = self._streams.setdefault(event.call_id, self._mask.stream())
        text = stream.feed(event.text)
        return replace(event, text=text) if text else None

    def forget(self, call_id: str) -> None:
        """Forget a call that has ended: its stored result holds what waited."""
        self._streams.pop(call_id, None)
