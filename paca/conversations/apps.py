"""The app of conversations."""

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    """Conversations and their logs."""

    name = "paca.conversations"
    label = "conversations"
    default_auto_field = "django.db.models.BigAutoField"
