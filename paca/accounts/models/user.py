"""People who can sign in."""

from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower

from paca.accounts.models.audit import Actor, AuditEntry
from paca.common.models import BaseModel

# A username is typed after "@" in a mention, so it holds only characters of a mention.
username_validator = RegexValidator(
    r"^[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?\Z",
    "Use letters, digits and . _ - (not at the beginning; no . or - at the end).",
)


class User(BaseModel, AbstractUser):
    """Signs in with a username and a password. One field for the name: not every name has two parts."""

    username = models.CharField(
        max_length=64,
        unique=True,
        validators=[username_validator],
        error_messages={"unique": "This username is taken."},
    )
    first_name = None  # type: ignore[assignment] # Django's way to leave a field out
    last_name = None  # type: ignore[assignment]
    name = models.CharField(max_length=150, blank=True, help_text="As others see it.")

    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [
            models.UniqueConstraint(
                Lower("username"),
                name="username_is_unique_in_any_case",
                violation_error_message="This username is taken.",
            )
        ]

    def __str__(self) -> str:
        return self.username

    def get_full_name(self) -> str:
        return self.name or self.username

    def get_short_name(self) -> str:
        return self.get_full_name()

    @property
    def actor(self) -> Actor:
        """The person as the actor of an audit entry."""
        return Actor(AuditEntry.ActorKind.PERSON, self.pk, self.username)
