"""Finds the image of sandboxes and checks that its runner has the version of this Paca."""

from paca.engine.workspace import SandboxUnavailable
from paca.sandbox import runner_bundle
from paca.sandbox.docker import container
from paca.sandbox.docker.engine import NOT_FOUND, PREFIX, DockerEngine, DockerRefused

DEFAULT_IMAGE = "paca-sandbox:1"


async def find_image_id(engine: DockerEngine, image: str) -> str:
    """The digest of the image ``image``.

    Raises ``SandboxUnavailable`` with what to do if it is missing or contains another runner.
    """
    command = "make sandbox-image"
    if image != DEFAULT_IMAGE:
        command = f"AGENT_SANDBOX_IMAGE={image} {command}"
    try:
        found = await engine.call(lambda client: client.inspect_image(image))
    except DockerRefused as refusal:
        if refusal.http_status != NOT_FOUND:
            raise SandboxUnavailable(f"{PREFIX}Docker refused: {refusal.detail}") from refusal
        raise SandboxUnavailable(
            f"{PREFIX}Docker has no image {image}. Build it: {command}"
        ) from None
    if (found["Config"].get("Labels") or {}).get(
        container.RUNNER_LABEL
    ) != runner_bundle.runner_version():
        raise SandboxUnavailable(
            f"{PREFIX}the image {image} was made for another version of Paca. Build it again: {command}"
        )
    return str(found["Id"])
