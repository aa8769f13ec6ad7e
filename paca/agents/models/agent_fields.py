"""Validators of an agent's columns, and columns that it has several of."""

from decimal import Decimal
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import (
    MaxLengthValidator,
    MaxValueValidator,
    MinValueValidator,
    RegexValidator,
)
from django.db import models

handle_validator = RegexValidator(
    r"^[a-z0-9](?:[a-z0-9_-]*[a-z0-9_])?\Z",
    "Use small letters, digits, - and _ (no - or _ at the beginning, no - at the end).",
)
model_validator = RegexValidator(
    r"^[A-Za-z0-9_.-]+/\S+\Z", "Write provider/model, for example anthropic/claude-sonnet-4-5."
)

type_validator = RegexValidator(
    r"^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\Z",
    "Use small letters, digits and -, such as security-reviewer.",
)


def check_base_url(address: str) -> None:
    """Validate a base URL. Django's validator refuses one-word hosts, which containers have.

    Raises ``ValidationError`` if it is not a plain HTTP address.
    """
    try:
        url = urlsplit(address)
        valid = url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        valid = False
    if not valid or url.username or url.password or url.query or url.fragment:
        raise ValidationError("Write an address such as https://models.example.org/v1.")


MIN_COST_USD = Decimal("0.01")


def trigger_prompt_field(when: str) -> "models.TextField[str, str]":
    """A prompt that replaces the default one of a trigger type; ``when`` says of which."""
    return models.TextField(
        blank=True,
        validators=[MaxLengthValidator(20_000)],
        help_text=f"Replaces the default prompt when {when}. Empty: the default.",
    )


def token_limit_field(help_text: str) -> "models.PositiveBigIntegerField[int | None, int | None]":
    """A limit in tokens; null for none."""
    return models.PositiveBigIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1000), MaxValueValidator(10**12)],
        help_text=help_text,
    )


def dollar_limit_field(help_text: str) -> "models.DecimalField[Decimal | None, Decimal | None]":
    """A limit in US dollars; null for none."""
    return models.DecimalField(
        null=True,
        blank=True,
        max_digits=10,
        decimal_places=2,
        validators=[MinValueValidator(MIN_COST_USD)],
        help_text=help_text,
    )
