"""What a tool gets besides its arguments: the API as its caller may use it, and where progress is told."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from paca.mcp_server.rest import Rest

# Seconds so far, seconds at most, and what the agent does.
Progress = Callable[[float, float, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    rest: Rest
    tell_progress: Progress
