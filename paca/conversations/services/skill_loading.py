"""Opens the skills that a message to an agent calls for, in the transaction that stores the message.

So the message and its skills are read by the same model call, and a skill is opened once in a conversation.
"""

from __future__ import annotations

from paca import events
from paca.agents import skill_reading
from paca.conversations import event_log
from paca.conversations.models import Conversation


def skill_events(current: Conversation, text: str) -> list[events.Event]:
    """The events to store with a message of this ``text`` in a locked conversation."""
    matches = skill_reading.called_for_by(text, current.agent_id)
    if not matches:
        return []
    loaded = {each.skill for each in event_log.of_type(current.id, events.SkillLoaded, after=0)}
    found: list[events.Event] = []
    for match in matches:
        opened = skill_reading.open_skill(current.agent_id, match.name)
        # guard: skill-is-loaded-once
        if opened is None or match.name in loaded:
            continue
        found.append(
            events.SkillLoaded(
                skill=opened.name,
                text=opened.content,
                keyword=match.keyword,
                files=list(opened.files),
            )
        )
    return found
