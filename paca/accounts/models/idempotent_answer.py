"""Stored answers to requests with an ``Idempotency-Key``."""

from django.db import models

from paca.common.models import BaseModel


class IdempotentAnswer(BaseModel):
    """The answer to one key of one person; ``fingerprint`` hashes method, path and body."""

    user = models.ForeignKey("accounts.User", on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    body = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "key"], name="idempotency_key_is_used_once_by_a_user"
            )
        ]
        indexes = [models.Index(fields=["created_at"], name="idempotent_answer_age")]

    def __str__(self) -> str:
        return f"{self.key} -> {self.status}"
