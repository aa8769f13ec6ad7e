"""A link that signs a person in once."""

from django.db import models

from paca.common.models import BaseModel


class OneTimeLink(BaseModel):
    """Only the hash of the secret is stored, so a reader of the database cannot use the link."""

    user = models.ForeignKey(
        "accounts.User", on_delete=models.CASCADE, related_name="one_time_links"
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return f"one-time link of {self.user_id}"
