"""What a container died of: when it was started, or for lack of memory."""

import asyncio
import logging

from paca.common import clock
from paca.engine.workspace import SandboxBroken, SandboxUnavailable, SandboxUnreachable
from paca.sandbox.docker.container import Container
from paca.sandbox.docker.engine import PREFIX, DockerEngine, DockerRefused

logger = logging.getLogger(__name__)
REPORT_SECONDS = 1.0  # a container's streams end a moment before Docker says that it has
LAST_LINES, LAST_CHARACTERS = 20, 2000
DOCKER_FAILED = (
    128  # what Docker has for a start that failed for reasons of its own; above it are signals
)
OOM_EVENT_SECONDS = 1.0  # between the kernel's kill for lack of memory and the container's end


async def was_out_of_memory(engine: DockerEngine, found: Container) -> bool:
    """Its own mark does not tell: Docker sets it for any command that was ever killed for its memory."""
    first, last = found.ended_at - OOM_EVENT_SECONDS, found.ended_at + 0.1
    span = {"since": f"{first:.3f}", "until": f"{last:.3f}"}
    which = {"container": found.id, "event": "oom"}
    return bool(await engine.call(lambda client: list(client.events(**span, filters=which))))


async def wait_for_exit_code(engine: DockerEngine, found: Container) -> int:
    """The exit code of one that did not come up; 0 if it lives, or nobody can know."""
    end = clock.monotonic() + REPORT_SECONDS
    try:
        while clock.monotonic() < end:
            seen = await engine.call(lambda client: client.inspect_container(found.id))
            if not seen["State"]["Running"]:
                return int(seen["State"]["ExitCode"])
            await asyncio.sleep(0.05)
    except DockerRefused as refusal:  # somebody has removed it
        logger.debug("a container is gone", extra={"reason": refusal.detail})
    return 0


def start_error(output: str, code: int) -> SandboxUnavailable:
    """For people: what it output and ended with. A kill is nothing of its own, and may not come again."""
    last = "\n".join(output.splitlines()[-LAST_LINES:])[-LAST_CHARACTERS:] or "no reason given"
    ended = f" It ended with exit code {code}." if code else ""
    detail = f"{PREFIX}the container does not start: {last}.{ended} Make its image anew: make sandbox-image"
    if code > DOCKER_FAILED:
        return SandboxUnreachable(f"The sandbox was killed while it was started.{ended}")
    return SandboxBroken(detail) if 0 < code < DOCKER_FAILED else SandboxUnavailable(detail)
