"""What a container died of: when it was started, or for lack of memory."""

import asyncio
import logging

from paca.common import clock
from paca.engine.workspace import SandboxBroken, SandboxUnavailable, SandboxUnreachable
from paca.sandbox.docker.container import Found
from paca.sandbox.docker.engine import PREFIX, Engine, Refused

logger = logging.getLogger(__name__)
KNOWN_SECONDS = 1.0  # a container's streams end a moment before Docker says that it has
LAST_LINES, LAST_LETTERS = 20, 2000
UNTOLD = 128  # what Docker has for a start that failed for reasons of its own; above it are signals
STARVED_SECONDS = 1.0  # between the kernel's kill for lack of memory and the container's end


async def has_starved(engine: Engine, found: Found) -> bool:
    """Its own mark does not tell: Docker sets it for any command that was ever killed for its memory."""
    first, last = found.ended_at - STARVED_SECONDS, found.ended_at + 0.1
    span = {"since": f"{first:.3f}", "until": f"{last:.3f}"}
    which = {"container": found.id, "event": "oom"}
    return bool(await engine.call(lambda client: list(client.events(**span, filters=which))))


async def ended_with(engine: Engine, found: Found) -> int:
    """The exit code of one that did not come up; 0 if it lives, or nobody can know."""
    end = clock.monotonic() + KNOWN_SECONDS
    try:
        while clock.monotonic() < end:
            seen = await engine.call(lambda client: client.inspect_container(found.id))
            if not seen["State"]["Running"]:
                return int(seen["State"]["ExitCode"])
            await asyncio.sleep(0.05)
    except Refused as refusal:  # somebody has removed it
        logger.debug("a container is gone", extra={"reason": refusal.detail})
    return 0


def start_failed(said: str, code: int) -> SandboxUnavailable:
    """For people: what it said and ended with. A kill is nothing of its own, and may not come again."""
    last = "\n".join(said.splitlines()[-LAST_LINES:])[-LAST_LETTERS:] or "no reason given"
    ended = f" It ended with exit code {code}." if code else ""
    detail = f"{PREFIX}the container does not start: {last}.{ended} Make its image anew: make sandbox-image"
    if code > UNTOLD:
        return SandboxUnreachable(f"The sandbox was killed while it was started.{ended}")
    return SandboxBroken(detail) if 0 < code < UNTOLD else SandboxUnavailable(detail)
