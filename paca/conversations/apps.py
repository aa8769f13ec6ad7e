"""The app of conversations."""

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    """Conversations and their logs."""

    name = "paca.conversations"
    label = "conversations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from paca.conversations import receivers  # noqa: F401 - connects them
