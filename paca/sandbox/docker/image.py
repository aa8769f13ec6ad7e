"""Finds the image of sandboxes and checks that its runner has the version of this Paca."""

from typing import Any

from paca.engine.workspace import SandboxBroken, SandboxUnavailable
from paca.sandbox import runner_bundle
from paca.sandbox.docker import container
from paca.sandbox.docker.engine import NOT_FOUND, PREFIX, DockerEngine, DockerRefused

DEFAULT_IMAGE = "paca-sandbox:1"
MISSING = (
    "The sandbox cannot start: Docker has no image {image}, which the settings of the agent or of its project name. "
    "Choose another image there, or have an operator build or pull this one."
)
OTHER_RUNNER = (
    "The sandbox cannot start: the image {image}, which the settings of the agent or of its project name, is not built on "
    "the image of this version of Paca. Choose another image there, or have an operator build it again."
)


async def find_image_id(engine: DockerEngine, image: str) -> str:
    """The digest of the default image.

    Raises ``SandboxUnavailable`` with what to do if it is missing or contains another runner.
    """
    command = "make sandbox-image"
    if image != DEFAULT_IMAGE:
        command = f"AGENT_SANDBOX_IMAGE={image} {command}"
    found = await _inspect(engine, image)
    if found is None:
        raise SandboxUnavailable(f"{PREFIX}Docker has no image {image}. Build it: {command}")
    if not _has_our_runner(found):
        raise SandboxUnavailable(
            f"{PREFIX}the image {image} was made for another version of Paca. Build it again: {command}"
        )
    return str(found["Id"])


async def find_chosen_image_id(engine: DockerEngine, image: str) -> str:
    """The digest of an image that a project or an agent has chosen.

    Raises ``SandboxBroken`` with what to do if it is missing or contains another runner: a person must act. Raises
    ``SandboxUnavailable`` if Docker does not tell.
    """
    found = await _inspect(engine, image)
    # guard: chosen-image-is-there
    if found is None:
        raise SandboxBroken(MISSING.format(image=image))
    # guard: chosen-image-has-our-runner
    if not _has_our_runner(found):
        raise SandboxBroken(OTHER_RUNNER.format(image=image))
    return str(found["Id"])


async def _inspect(engine: DockerEngine, image: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = await engine.call(lambda client: client.inspect_image(image))
    except DockerRefused as refusal:
        if refusal.http_status != NOT_FOUND:
            raise SandboxUnavailable(f"{PREFIX}Docker refused: {refusal.detail}") from refusal
        return None
    return found


def _has_our_runner(found: dict[str, Any]) -> bool:
    labels = found["Config"].get("Labels") or {}
    return bool(labels.get(container.RUNNER_LABEL) == runner_bundle.runner_version())
