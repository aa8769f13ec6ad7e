"""API tokens: stored as a hash, with a name, scopes and the time of the last use."""

from typing import Self

from django.db import models
from django.utils import timezone
from knox.models import AbstractAuthToken

from paca.accounts.models.user import User
from paca.common.models import BaseModel


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    """Queries of tokens."""

    def owned_by(self, user: User) -> Self:
        """The person's own tokens."""
        return self.filter(user=user)


class ApiToken(BaseModel, AbstractAuthToken):  # type: ignore[misc] # knox has no types
    """Acts as its user, within its scopes. ``token_key`` holds the first characters of the token."""

    objects = ApiTokenQuerySet.as_manager()

    digest = models.CharField(max_length=128, unique=True, editable=False)
    user = models.ForeignKey(
        "accounts.User", on_delete=models.CASCADE, related_name="auth_token_set"
    )
    name = models.CharField(max_length=100, help_text="What it is for.")
    scopes = models.JSONField(
        default=list, blank=True, help_text="Empty: all that its user may do."
    )
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "API token"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.token_key}…)"

    @property
    def expired(self) -> bool:
        """Whether the token is past its expiry."""
        return self.expiry is not None and self.expiry <= timezone.now()
