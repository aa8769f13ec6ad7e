"""The secret values that Paca knows, which neither a trace nor a span may hold."""

from uuid import UUID

from django.conf import settings

from paca.agents import encryption
from paca.agents.models import Agent
from paca.agents.services.rotation import SECRET_COLUMNS
from paca.engine.llm.credentials import secrets_of


def of_agent(agent_id: UUID) -> frozenset[str]:
    """The secrets of an agent and of the installation.

    Raises ``SecretUnreadable`` if one cannot be decrypted: what it would be removed from is not stored then.
    """
    columns = [column for model, column in SECRET_COLUMNS if model is Agent]
    stored = Agent.objects.filter(pk=agent_id).values_list(*columns).first() or ()
    keys = [encryption.decrypt(each) for each in stored if each]
    return of_installation().union(*map(secrets_of, keys))


def of_installation() -> frozenset[str]:
    """The secrets of the installation, as its settings have them."""
    database, redis = settings.DATABASES["default"], settings.REDIS_URL
    found = {
        settings.SECRET_KEY,
        *settings.ENCRYPTION_KEY,
        settings.METRICS_TOKEN,
        settings.PACA_ADMIN_PASSWORD,
        *settings.OTEL_EXPORTER_OTLP_HEADERS.values(),
        str(database.get("PASSWORD") or ""),
        redis.rpartition("@")[0].rpartition(":")[2],
    }
    return frozenset(found - {""})
