"""Serializers of memory entries."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from paca.common.api.serializers import InputSerializer, QuerySerializer
from paca.conversations.models import MemoryEntry, MemoryState
from paca.conversations.models.memory import MAX_ENTRY_CHARACTERS
from paca.projects.models import Member

SHOWN_STATES = [each for each in MemoryState.choices if each[0] != MemoryState.REFUSED]


class MemoryQuery(QuerySerializer):
    """Which entries are listed."""

    state = serializers.ChoiceField(choices=SHOWN_STATES, required=False, help_text="All if none.")


class MemoryChanges(InputSerializer):
    """The text of an entry, and whether it stays when the memory is full."""

    text = serializers.CharField(required=False, help_text=f"{MAX_ENTRY_CHARACTERS} characters.")
    pinned = serializers.BooleanField(
        required=False, help_text="A pinned entry stays when the memory is full."
    )


class MemoryInput(MemoryChanges):
    """A new entry."""

    text = serializers.CharField(help_text=f"At most {MAX_ENTRY_CHARACTERS} characters.")


class MemoryDecisionInput(InputSerializer):
    """What becomes of a waiting entry."""

    decision = serializers.ChoiceField(choices=["accept", "refuse"])


class MemoryMemberSerializer(serializers.Serializer[Member]):
    """The person or agent who wrote or checked an entry."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.CharField()


class ReplacedSerializer(serializers.Serializer[MemoryEntry]):
    """The entry that another one replaces when it is accepted."""

    id = serializers.UUIDField()
    text = serializers.CharField()


class MemoryEntrySerializer(serializers.ModelSerializer[MemoryEntry]):
    """An entry of a memory, with where it came from. Only accepted entries stand in prompts."""

    text = serializers.CharField(
        help_text="Empty if a waiting entry only takes out the one that it replaces."
    )
    state = serializers.ChoiceField(choices=SHOWN_STATES)
    author = MemoryMemberSerializer()
    checked_by = MemoryMemberSerializer(
        allow_null=True, help_text="Who accepted or changed what an agent wrote."
    )
    conversation = serializers.SerializerMethodField(
        help_text="The id of the conversation in which an agent wrote it; null if there is none or it is deleted."
    )
    replaces = ReplacedSerializer(allow_null=True)
    accepted_at = serializers.DateTimeField(allow_null=True, help_text="Null while it waits.")

    class Meta:
        model = MemoryEntry
        fields = (
            "id",
            "text",
            "state",
            "pinned",
            "author",
            "checked_by",
            "conversation",
            "replaces",
            "accepted_at",
            "created_at",
            "updated_at",
        )

    def get_conversation(self, entry: MemoryEntry) -> str | None:
        current: Any = entry.conversation
        return None if current is None or current.deleted_at is not None else str(current.pk)
