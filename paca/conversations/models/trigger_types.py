"""The causes of conversations and of triggers."""

from django.db import models


class TriggerType(models.TextChoices):
    """The cause of a conversation, and the kind of each trigger that asks an agent to work."""

    CHAT_MESSAGE = "chat_message"
    TASK_ASSIGNED = "task_assigned"
    COMMENT_MENTION = "comment_mention"
    DESCRIPTION_WRITE = "description_write"
    EXECUTE = "execute"
    CHECK_IN = "check_in"
    HELPER = "helper"
    TEAMMATE = "teammate"


# The final answer to one of these becomes a comment. An agent has one conversation for all of them
# on a task or doc.
COMMENTED_TYPES = (TriggerType.TASK_ASSIGNED, TriggerType.COMMENT_MENTION)
# These change nothing unless they say otherwise.
BOUNDED_TYPES = (TriggerType.CHECK_IN, TriggerType.HELPER, TriggerType.TEAMMATE)
# The final answer to one of these is shown on the task or doc of the conversation.
REPORTED_TYPES = (*COMMENTED_TYPES, TriggerType.CHECK_IN)
