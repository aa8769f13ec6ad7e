"""What projects and agents both say of the sandboxes of agents."""

import re
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

MAX_IMAGE_CHARACTERS = 255
# A registry with its port, path, tag and digest, as Docker names an image. No name begins like an option.
IMAGE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._/:@-]*\Z")


def check_image(image: Any) -> None:
    """Raises ``ValidationError`` unless this can be the name of an image."""
    if not IMAGE.match(str(image)):
        raise ValidationError("This is no name of an image, such as paca-sandbox:1.")


class SandboxEnvironment(models.Model):
    """The image of sandboxes. That of an agent wins over its project's."""

    # With a default of the database: processes of an earlier version do not know the column.
    sandbox_image = models.CharField(
        max_length=MAX_IMAGE_CHARACTERS,
        blank=True,
        default="",
        db_default="",
        validators=[check_image],
        help_text="Docker only: one of AGENT_SANDBOX_IMAGES. Empty: the default.",
    )

    class Meta:
        abstract = True
