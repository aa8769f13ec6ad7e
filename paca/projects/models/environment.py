"""What projects and agents both say of the sandboxes of agents: the image, and what is set up in them once."""

import re
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from paca.common.text import is_storable

MAX_IMAGE_CHARACTERS = 255
MAX_SETUP_CHARACTERS = 16_000
# A registry with its port, path, tag and digest, as Docker names an image. No name begins like an option.
IMAGE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._/:@-]*\Z")


def check_image(image: Any) -> None:
    """Raises ``ValidationError`` unless this can be the name of an image."""
    if not IMAGE.match(str(image)):
        raise ValidationError("This is no name of an image, such as paca-sandbox:1.")


def check_setup(text: Any) -> None:
    """Raises ``ValidationError`` unless this can be a script."""
    if not is_storable(str(text)) or len(str(text)) > MAX_SETUP_CHARACTERS:
        raise ValidationError(f"A script has at most {MAX_SETUP_CHARACTERS:,} characters.")


class SandboxEnvironment(models.Model):
    """The image of sandboxes and their setup. The image of an agent wins over its project's; its setup comes after it."""

    # With defaults of the database: processes of an earlier version do not know the columns.
    sandbox_image = models.CharField(
        max_length=MAX_IMAGE_CHARACTERS,
        blank=True,
        default="",
        db_default="",
        validators=[check_image],
        help_text="Docker only: one of AGENT_SANDBOX_IMAGES. Empty: the default.",
    )

    setup_commands = models.TextField(
        blank=True,
        default="",
        db_default="",
        validators=[check_setup],
        help_text="A script for bash that runs once. What it installs below /opt/setup is then in each sandbox.",
    )

    class Meta:
        abstract = True
