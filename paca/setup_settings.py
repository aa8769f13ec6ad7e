"""The settings of what stands in sandboxes, which ``settings.py`` takes over. Each has its unit in its name."""

from paca import env

__all__ = ["AGENT_SANDBOX_IMAGES", "SANDBOX_SETUP_DAYS", "SANDBOX_SETUP_SECONDS"]

AGENT_SANDBOX_IMAGES = env.comma_separated(
    "AGENT_SANDBOX_IMAGES",
    meaning="More images that projects and agents may choose for their sandboxes, such as paca-node:2 or "
    "registry.example.org/sandboxes/*, comma separated. Each is built on the image of this version of Paca. "
    "An image is code that runs beside the Docker daemon, so only the operator lists them.",
)
SANDBOX_SETUP_SECONDS = env.integer(
    "SANDBOX_SETUP_SECONDS",
    900,
    at_least=10,
    meaning="How long the setup commands of a project and an agent may run.",
)
SANDBOX_SETUP_DAYS = env.integer(
    "SANDBOX_SETUP_DAYS",
    14,
    at_least=1,
    meaning="What setup commands installed is removed when no sandbox has used it for so many days.",
)
