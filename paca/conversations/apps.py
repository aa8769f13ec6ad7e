"""The app of conversations."""

from django.apps import AppConfig
from django.conf import settings

from paca import bus
from paca.common.secret_removal import remember


class ConversationsConfig(AppConfig):
    """Conversations and their logs."""

    name = "paca.conversations"
    label = "conversations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        bus.configure(settings.REDIS_URL)
        from paca.agents.services import rotation
        from paca.conversations import known_secrets, receivers  # noqa: F401 - connects them
        from paca.conversations.models import Trace

        if (Trace, "encrypted_key") not in rotation.SECRET_COLUMNS:
            rotation.SECRET_COLUMNS.append((Trace, "encrypted_key"))
        remember(*known_secrets.of_installation())
