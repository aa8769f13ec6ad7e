"""Services that give an agent an instruction without a chat: write a description, or do this now."""

from uuid import UUID

from django.db import transaction

from paca.agents.models import Agent
from paca.common.errors import Conflict
from paca.conversations.models import Conversation, TriggerType
from paca.conversations.models.statuses import UNFINISHED_STATUSES, ConversationStatus
from paca.conversations.services import assignments, trigger_texts
from paca.conversations.services.inbox import add_message, check_agent_available, record_start
from paca.conversations.services.messages import MAX_TITLE_CHARACTERS, check_text
from paca.conversations.services.titles import title_from
from paca.projects.models import Member, Task


class AgentBusy(Conflict):
    """The agent has work already; nothing was stored. Leave ``idle`` out to queue the instruction."""

    code = "agent_busy"


@transaction.atomic
def write_description(
    agent: Agent,
    task: Task,
    *,
    by: Member,
    instruction: str = "",
    source: str = "api",
    key: str = "",
    conversation_id: UUID | None = None,
) -> Conversation:
    """Let the agent write the description of a task, in a conversation of its own.

    The answer becomes a suggestion; the task changes when a person keeps it. ``source`` and ``key`` are
    those of the trigger. The conversation gets ``conversation_id``, or a new id. Raises ``Invalid`` if
    the instruction is too long, and what ``check_agent_available`` raises.
    """
    check_agent_available(agent)
    if instruction:
        check_text(instruction, field="instruction")
    current = assignments.create(
        agent,
        TriggerType.DESCRIPTION_WRITE,
        by=by,
        subject=task,
        conversation_id=conversation_id,
    )
    record_start(current)
    text = trigger_texts.description_request(task, instruction=instruction, by=by)
    title = f"Description of {trigger_texts.title_of(task)}"
    return _begin(current, text, title=title, by=by, source=source, key=key)


@transaction.atomic
def start(
    agent: Agent,
    *,
    instruction: str,
    by: Member,
    task: Task | None = None,
    idle: bool = False,
    plan: bool | None = None,
) -> Conversation:
    """Start a conversation with an instruction. Its answer stays in the conversation.

    ``idle``: only if the agent has no other work. ``plan``: whether it begins in plan mode; None for the setting
    of the agent. Raises ``AgentBusy`` then, ``Invalid`` if the
    instruction is empty or too long, and what ``check_agent_available`` raises.
    """
    check_text(instruction, field="instruction")
    assignments.lock_agent(agent)  # two instructions for an idle agent are put in order
    check_agent_available(agent)
    if idle and _has_work(agent):
        raise AgentBusy(f"{agent.name} has work already.")
    current = assignments.create(agent, TriggerType.EXECUTE, by=by, subject=task, plan=plan)
    if task is not None:
        record_start(current)
    text = trigger_texts.instruction_on(task, instruction)
    return _begin(current, text, title=title_from(instruction), by=by)


def _begin(
    current: Conversation,
    text: str,
    *,
    title: str,
    by: Member,
    source: str = "api",
    key: str = "",
) -> Conversation:
    message = assignments.message_of(text, TriggerType(current.trigger_type), by=by)
    add_message(
        current,
        message,
        by=by.name,
        title=title[:MAX_TITLE_CHARACTERS],
        actor=by,
        source=source,
        key=key,
    )
    return current


def _has_work(agent: Agent) -> bool:
    waiting = [each for each in UNFINISHED_STATUSES if each != ConversationStatus.PAUSED]
    return Conversation.objects.filter(
        agent=agent, status__in=waiting, deleted_at__isnull=True
    ).exists()
