"""The stored frames of a conversation, decoded."""

import json
from typing import Any
from uuid import UUID

from paca.conversations import event_log


def frames_of(conversation_id: UUID) -> list[dict[str, Any]]:
    """All frames of the conversation's log, in order."""
    return [json.loads(event.frame()) for event in event_log.all_events(conversation_id)]
