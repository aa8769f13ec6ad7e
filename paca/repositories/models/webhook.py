"""The webhook requests of git servers that had an effect: each has it once."""

from __future__ import annotations

from django.db import models

from paca.repositories.models.repository import Repository


class WebhookDelivery(models.Model):
    """A request that had an effect. ``digest`` is the sha256 of its body: its headers are not signed."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="deliveries")
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["repository", "digest"], name="webhook_delivery_has_its_effect_once"
            )
        ]

    def __str__(self) -> str:
        return self.digest[:12]
