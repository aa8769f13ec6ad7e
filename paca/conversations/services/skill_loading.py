"""Opens the skills that a message to an agent calls for, in the transaction that stores the message.

So the message and its skills are read by the same model call, and a skill is opened once in a conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from paca import events
from paca.agents import skill_reading
from paca.conversations import event_log
from paca.conversations.models import Conversation


def skill_events(current: Conversation, text: str) -> Sequence[events.Event]:
    """The events to store with a message of this ``text`` in a locked conversation."""
    found = opened_by(text, current.agent_id)
    if not found:
        return []
    loaded = {each.skill for each in event_log.of_type(current.id, events.SkillLoaded, after=0)}
    # guard: skill-is-loaded-once
    return [each for each in found if each.skill not in loaded]


def opened_by(text: str, agent_id: UUID) -> list[events.SkillLoaded]:
    """The skills of the agent that a message of this ``text`` opens in a new conversation."""
    matches = skill_reading.called_for_by(text, agent_id)
    opened = [(match, skill_reading.open_skill(agent_id, match.name)) for match in matches]
    return [
        events.SkillLoaded(
            skill=skill.name, text=skill.content, keyword=match.keyword, files=list(skill.files)
        )
        for match, skill in opened
        if skill is not None
    ]
