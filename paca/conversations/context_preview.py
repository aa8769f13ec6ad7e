"""The context that the first run of a conversation would have: the system prompt, and the message on a task."""

from __future__ import annotations

from django.utils import timezone

from paca.agents import context_preview
from paca.agents.context_preview import ContextPart, ContextPreview
from paca.agents.models import Agent
from paca.conversations import memory_lists
from paca.conversations.models.trigger_types import TriggerType
from paca.conversations.services import trigger_texts
from paca.conversations.services.skill_loading import opened_by
from paca.engine.context.skills import format_loaded
from paca.projects.models import Member, Project, Task

# They stand for what nobody has written yet.
COMMENT, INSTRUCTION = "(The comment.)", "(The instruction.)"


def preview(
    agent: Agent, project: Project, *, trigger_type: str, task: Task | None = None, by: Member
) -> ContextPreview:
    """The context of a conversation that ``by`` starts, with its first message if it is about a ``task``."""
    text = "" if task is None else _message(trigger_type, task, by)
    messages = [ContextPart("message", text)] if text else []
    for skill in opened_by(text, agent.pk):
        opened = format_loaded(skill.skill, skill.text, skill.keyword, skill.files)
        messages.append(ContextPart("opened_skill", opened))
    return context_preview.preview(
        agent,
        project=project.name,
        trigger_type=trigger_type,
        messages=messages,
        memory=memory_lists.for_prompt(agent, project, until=timezone.now()),
    )


def _message(trigger_type: str, task: Task, by: Member) -> str:
    match trigger_type:
        case TriggerType.TASK_ASSIGNED:
            return trigger_texts.assignment(task, by=by)
        case TriggerType.COMMENT_MENTION:
            return trigger_texts.mention(task, text=COMMENT, by=by, comment=None, is_first=True)
        case TriggerType.DESCRIPTION_WRITE:
            return trigger_texts.description_request(task, instruction="", by=by)
        case TriggerType.EXECUTE:
            return trigger_texts.instruction_on(task, INSTRUCTION)
    return ""  # a chat is about no task
