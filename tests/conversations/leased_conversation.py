"""Conversations for tests of the store, and leases as if a worker had claimed them."""

from datetime import timedelta

from django.utils import timezone

from paca.conversations.models import Conversation
from paca.conversations.store import Lease
from tests.support.world import make_world


def a_conversation(**facts: object) -> Conversation:
    made = make_world()
    return Conversation.objects.create(
        project=made.project, agent=made.agent, trigger_type="chat_message", **facts
    )


def leased(conversation: Conversation, epoch: int = 1) -> Lease:
    """A lease of the conversation, as if a worker had claimed it."""
    Conversation.objects.filter(pk=conversation.pk).update(
        lease_owner="w", lease_epoch=epoch, lease_until=timezone.now() + timedelta(seconds=60)
    )
    return Lease(conversation.pk, "w", epoch)
