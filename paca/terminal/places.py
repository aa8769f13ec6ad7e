"""Finds the project, the agent and the conversation that the flags name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from paca.terminal.failures import ClientFailure, ExitCode
from paca.terminal.rest import Rest


@dataclass(frozen=True, slots=True)
class Place:
    """A project and an agent of it, as the API shows them."""

    project: dict[str, Any]
    agent: dict[str, Any]

    @property
    def path(self) -> str:
        """The path of the project below ``/api/v1/``."""
        return f"projects/{self.project['id']}/"

    @property
    def chats(self) -> str:
        """The path of one's own chats with the agent."""
        return f"{self.path}agents/{self.agent['id']}/chat-sessions/"

    def conversation(self, conversation_id: str) -> str:
        """The path of a conversation."""
        return f"{self.path}conversations/{conversation_id}/"


async def find_project(rest: Rest, wanted: str) -> dict[str, Any]:
    """The project of this id, name or prefix; the only one if ``wanted`` is empty.

    Raises ``ClientFailure``, which lists those that there are.
    """
    projects = [each async for each in rest.pages("projects/")]
    return _choose(projects, wanted, ("id", "name", "prefix"), "project", "name")


async def find_agent(rest: Rest, project: dict[str, Any], wanted: str) -> dict[str, Any]:
    """The agent of this handle; the only one if ``wanted`` is empty. Raises ``ClientFailure``."""
    agents = [each async for each in rest.pages(f"projects/{project['id']}/agents/")]
    handle = wanted.strip().removeprefix("@")
    return _choose(agents, handle, ("id", "handle"), "agent", "handle")


def _choose(
    found: list[dict[str, Any]], wanted: str, fields: Iterable[str], noun: str, shown: str
) -> dict[str, Any]:
    named = wanted.strip().casefold()
    matching = [
        each
        for each in found
        if not named or named in [str(each.get(field, "")).casefold() for field in fields]
    ]
    if len(matching) == 1:
        return matching[0]
    names = ", ".join(sorted(str(each.get(shown)) for each in (matching or found))[:20])
    if not found:
        raise ClientFailure(
            ExitCode.WRONG_REQUEST,
            f"The token sees no {noun}.",
            f"make one, or use the token of a member of the {noun}'s project"
            if noun == "agent"
            else "use the token of a person who is a member of one",
        )
    cause = f"There is no {noun} {wanted!r}." if named and not matching else f"Which {noun}?"
    raise ClientFailure(ExitCode.WRONG_REQUEST, cause, f"give --{noun}, one of: {names}")


async def find_conversation(rest: Rest, project: dict[str, Any], wanted: str) -> dict[str, Any]:
    """The conversation of this id in the project. Raises ``ClientFailure``."""
    try:
        UUID(wanted)
    except ValueError:
        raise ClientFailure(
            ExitCode.WRONG_REQUEST,
            f"{wanted!r} is no id of a conversation.",
            "copy it from the address of its page, or use --continue",
        ) from None
    return await rest.get(f"projects/{project['id']}/conversations/{wanted}/")


async def latest_conversation(rest: Rest, place: Place) -> dict[str, Any] | None:
    """That of one's latest chat with the agent; None if there is none."""
    page = await rest.get(place.chats, limit=1)
    results = page.get("results") or []
    return results[0]["conversation"] if results else None
