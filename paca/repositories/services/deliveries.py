"""Removes the marks of old webhook requests."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from paca.repositories.models import WebhookDelivery

# Git servers offer to send a request again for some days. Its signature never ends, so the marks stay much longer.
KEPT = timedelta(days=90)
BATCH = 1000


def remove_old() -> int:
    """Delete the oldest marks that are older than ``KEPT``, at most ``BATCH``; gives their number."""
    old = WebhookDelivery.objects.filter(created_at__lt=timezone.now() - KEPT)
    oldest = list(old.order_by("pk").values_list("pk", flat=True)[:BATCH])
    WebhookDelivery.objects.filter(pk__in=oldest).delete()
    return len(oldest)
