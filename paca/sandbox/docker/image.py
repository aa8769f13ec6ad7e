"""The image of containers: which it is, and whether it is the one that this Paca was made for."""

from paca.engine.workspace import SandboxUnavailable
from paca.sandbox import runner_bundle
from paca.sandbox.docker import container
from paca.sandbox.docker.engine import PREFIX, Engine, Refused

DEFAULT_IMAGE = "paca-sandbox:1"
NOT_FOUND = 404


async def usable(engine: Engine, image: str) -> str:
    """Its digest. Raises ``SandboxUnavailable``, with what to do, if it is missing or another's."""
    mend = "make sandbox-image"
    if image != DEFAULT_IMAGE:
        mend = f"AGENT_SANDBOX_IMAGE={image} {mend}"
    try:
        found = await engine.call(lambda client: client.inspect_image(image))
    except Refused as refusal:
        if refusal.http_status != NOT_FOUND:
            raise SandboxUnavailable(f"{PREFIX}Docker refused: {refusal.detail}") from refusal
        raise SandboxUnavailable(f"{PREFIX}Docker has no image {image}. Make it: {mend}") from None
    if (found["Config"].get("Labels") or {}).get(
        container.RUNNER
    ) != runner_bundle.runner_version():
        raise SandboxUnavailable(
            f"{PREFIX}the image {image} was made for another version of Paca. Make it anew: {mend}"
        )
    return str(found["Id"])
