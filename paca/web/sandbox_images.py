"""The images that settings pages offer for sandboxes."""

from typing import Any

from paca.conversations.models import Worker
from paca.projects.services import images


def context() -> dict[str, Any]:
    """The names to choose from, the default, and whether a choice is without effect because no worker uses Docker."""
    known = images.allowed()
    backends = set(Worker.objects.working().exclude(sandbox="").values_list("sandbox", flat=True))
    return {
        "default_image": known[0],
        "sandbox_images": [image for image in known if not image.endswith("*")],
        "images_without_effect": bool(backends) and "docker" not in backends,
    }
