"""The secret values that Paca knows, which neither a trace nor a span may hold."""

import base64
import binascii
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from paca.agents import encryption
from paca.agents.models import Agent, ModelKey
from paca.agents.services.rotation import SECRET_COLUMNS
from paca.engine.llm.credentials import secrets_of
from paca.projects.models import Member


def of_agent(agent_id: UUID) -> frozenset[str]:
    """The secrets of an agent, of those who lend it keys (its project, its members and the server), and of the
    installation.

    Raises ``SecretUnreadable`` if one cannot be decrypted: what it would be removed from is not stored then.
    """
    columns = [column for model, column in SECRET_COLUMNS if model is Agent]
    found = Agent.objects.filter(pk=agent_id).values_list("project_id", *columns).first()
    if found is None:
        return of_installation()
    project_id, *own = found
    people = Member.objects.filter(project=project_id, user__isnull=False).values("user")
    lent = ModelKey.objects.filter(
        Q(project=project_id) | Q(user__in=people) | Q(project=None, user=None)
    )
    stored = [*own, *lent.values_list("encrypted_key", flat=True)]
    keys = [encryption.decrypt(each) for each in stored if each]
    return of_installation().union(*map(secrets_of, keys))


def of_installation() -> frozenset[str]:
    """The secrets of the installation, as its settings have them."""
    found = {
        settings.SECRET_KEY,
        *settings.ENCRYPTION_KEY,
        settings.METRICS_TOKEN,
        settings.PACA_ADMIN_PASSWORD,
        str(settings.DATABASES["default"].get("PASSWORD") or ""),
        *_of_address(settings.REDIS_URL),
        *_of_address(settings.OTEL_EXPORTER_OTLP_ENDPOINT),
    }
    for value in settings.OTEL_EXPORTER_OTLP_HEADERS.values():
        found.update(_of_header(value))
    return frozenset(found - {""})


def _of_address(url: str) -> Iterator[str]:
    """The password in an address: as it is written there, and as it is."""
    password = urlsplit(url).password or ""
    yield password
    yield unquote(password)


def _of_header(value: str) -> Iterator[str]:
    """The value, what follows a scheme such as Bearer, and the password that Basic encodes."""
    yield value
    scheme, _, token = value.strip().rpartition(" ")
    # guard: token-of-a-header-is-a-secret-without-its-scheme
    yield token
    if scheme.strip().lower() == "basic":
        try:
            yield base64.b64decode(token).decode("utf-8", "replace").partition(":")[2]
        except binascii.Error:
            return
