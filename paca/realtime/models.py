"""Tickets, with which clients that cannot send a header open one socket."""

from django.conf import settings
from django.db import models

from paca.common.models import BaseModel


class Ticket(BaseModel):
    """A ticket, stored as a hash and deleted when it is used. It stands for the session or token that
    requested it: when that ends, each socket that was opened with the ticket ends too.
    """

    digest = models.CharField(max_length=64, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    session_key = models.CharField(max_length=40, blank=True, editable=False)
    token_id = models.UUIDField(null=True, editable=False)
    expires_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["expires_at"], name="ticket_expiry")]
        constraints = [
            models.CheckConstraint(
                name="ticket_stands_for_a_session_or_a_token",
                condition=models.Q(session_key="", token_id__isnull=False)
                | (~models.Q(session_key="") & models.Q(token_id__isnull=True)),
            )
        ]

    def __str__(self) -> str:
        return f"ticket of {self.user_id}"
