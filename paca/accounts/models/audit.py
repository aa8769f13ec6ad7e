"""The audit trail: which actor did what to which object. Entries never change."""

import uuid
from dataclasses import dataclass
from typing import Any, NoReturn

from django.db import models

from paca.common.models import BaseModel


class AuditEntryIsImmutable(RuntimeError):
    """An entry of the audit trail cannot be changed or removed."""


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    """Can read and add entries, not change or remove them."""

    def update(self, **_changes: Any) -> NoReturn:
        """Refuse: raises ``AuditEntryIsImmutable``."""
        raise AuditEntryIsImmutable

    def delete(self) -> NoReturn:
        """Refuse: raises ``AuditEntryIsImmutable``."""
        raise AuditEntryIsImmutable


class AuditEntry(BaseModel):
    """References are plain ids, so that an entry outlives its actor and its object."""

    class ActorKind(models.TextChoices):
        """Kinds of actors."""

        PERSON = "person"
        AGENT = "agent"
        TOKEN = "token"  # noqa: S105 - a kind of actor, no secret
        WORKER = "worker"
        SYSTEM = "system"

    actor = models.CharField(max_length=10, choices=ActorKind)
    actor_id = models.UUIDField(null=True)
    actor_name = models.CharField(max_length=150, blank=True)
    action = models.CharField(max_length=100)
    project_id = models.UUIDField(null=True)
    object_type = models.CharField(max_length=100, blank=True)
    object_id = models.CharField(max_length=64, blank=True)
    object_name = models.CharField(max_length=200, blank=True)
    facts = models.JSONField(default=dict)
    request_id = models.CharField(max_length=64, blank=True)
    ip = models.GenericIPAddressField(null=True)

    objects = AuditQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "audit entries"
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["-created_at"], name="audit_by_time"),
            models.Index(fields=["object_type", "object_id"], name="audit_by_object"),
        ]

    def __str__(self) -> str:
        return f"{self.actor_name or self.actor} {self.action} {self.object_name}".strip()

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Add the entry. Raises ``AuditEntryIsImmutable`` if it is stored already."""
        if not self._state.adding:
            raise AuditEntryIsImmutable
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: raises ``AuditEntryIsImmutable``."""
        raise AuditEntryIsImmutable


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it, as an audit entry stores it. ``id`` is None for the system."""

    kind: AuditEntry.ActorKind
    id: uuid.UUID | None
    name: str
