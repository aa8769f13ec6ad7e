"""What Docker tells about the end of a container: its exit code, its last output, a lack of memory."""

import asyncio
import logging

from paca.common import clock
from paca.engine.workspace import SandboxBroken, SandboxUnavailable, SandboxUnreachable
from paca.sandbox.docker.container import Container
from paca.sandbox.docker.engine import PREFIX, DockerEngine, DockerRefused

logger = logging.getLogger(__name__)
REPORT_SECONDS = 1.0  # a container's streams end a moment before Docker reports its end
LAST_LINES, LAST_CHARACTERS = 20, 2000
DOCKER_FAILED = 128  # the exit code of a start that Docker itself failed; higher codes are signals
OOM_EVENT_SECONDS = 1.0  # between the kernel's kill and the container's end
LATE_EVENT_SECONDS = 0.5  # between the container's end and what Docker hears last


async def was_out_of_memory(engine: DockerEngine, found: Container) -> bool:
    """Whether the container ended because it ran out of memory, from Docker's events.

    The container's own mark is no proof: Docker sets it when any command was ever killed for its memory. Nor is its
    absence: Docker may hear of the lack of memory after it has heard of the end, so this waits for the event.
    Raises ``DockerRefused`` or ``SandboxUnreachable``.
    """
    first, last = found.ended_at - OOM_EVENT_SECONDS, found.ended_at + LATE_EVENT_SECONDS
    interval = {"since": f"{first:.3f}", "until": f"{last:.3f}"}
    filters = {"container": found.id, "event": "oom"}
    return bool(await engine.call(lambda client: list(client.events(**interval, filters=filters))))


async def wait_for_exit_code(engine: DockerEngine, found: Container) -> int:
    """The exit code of a container that failed to start; 0 if it still runs or Docker does not know it."""
    deadline = clock.monotonic() + REPORT_SECONDS
    try:
        while clock.monotonic() < deadline:
            inspected = await engine.call(lambda client: client.inspect_container(found.id))
            if not inspected["State"]["Running"]:
                return int(inspected["State"]["ExitCode"])
            await asyncio.sleep(0.05)
    except DockerRefused as refusal:  # it was removed meanwhile
        logger.debug("container is gone", extra={"reason": refusal.detail})
    return 0


def start_error(output: str, code: int) -> SandboxUnavailable:
    """The error for a container that failed to start, with its last output and exit code.

    A container that was killed is worth another attempt, so that error is ``SandboxUnreachable``.
    """
    last = "\n".join(output.splitlines()[-LAST_LINES:])[-LAST_CHARACTERS:] or "no reason given"
    ended = f" It ended with exit code {code}." if code else ""
    detail = f"{PREFIX}the container does not start: {last}.{ended} Build its image again: make sandbox-image"
    if code > DOCKER_FAILED:
        return SandboxUnreachable(f"The sandbox was killed while it was started.{ended}")
    return SandboxBroken(detail) if 0 < code < DOCKER_FAILED else SandboxUnavailable(detail)
