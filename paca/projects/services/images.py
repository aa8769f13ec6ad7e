"""Which images sandboxes may have: an image is code that runs beside the Docker daemon, so the operator lists them."""

from django.conf import settings

from paca.common.errors import Invalid

NOT_LISTED = "This image is not one that sandboxes may have here: {known}. An operator can add it to AGENT_SANDBOX_IMAGES."


def allowed() -> list[str]:
    """The names of the images that may be chosen, the default first. One that ends with * stands for all that begin so."""
    return list(dict.fromkeys([settings.AGENT_SANDBOX_IMAGE, *settings.AGENT_SANDBOX_IMAGES]))


def is_allowed(image: str) -> bool:
    """Whether sandboxes may have this image; the empty name is the default."""
    # guard: images-are-those-of-the-operator
    return not image or any(
        image.startswith(each[:-1]) if each.endswith("*") else image == each for each in allowed()
    )


def not_allowed() -> str:
    """Why an image cannot be chosen, in words."""
    return NOT_LISTED.format(known=", ".join(allowed()))


def require_allowed(image: str, *, field: str) -> None:
    """Raises ``Invalid`` for this field if sandboxes may not have the image."""
    if not is_allowed(image):
        raise Invalid(fields={field: [not_allowed()]})
