"""Services on the tools of MCP servers: what a server offered, and what people decide on it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from paca.accounts import audit
from paca.agents import encryption, mcp_secrets
from paca.agents.models import McpServer, McpTool
from paca.agents.models.mcp_server import MAX_ERROR_CHARACTERS
from paca.agents.services.mcp_servers import is_another, place_of, tell_pages
from paca.common.errors import Conflict, Invalid
from paca.common.secret_removal import text_without_secrets
from paca.common.text import to_storable
from paca.engine.mcp.settings import (
    McpServerSettings,
    OfferedTool,
    PinnedTool,
    ServerOffer,
    ServerState,
)

MAX_TOOLS = 500  # of one server; it may not fill the database with ever new names
MAX_COMPARED_LINES = 1_000  # of a text: a server can write longer ones that take seconds to compare
OFFER_COLUMNS = (
    "description",
    "schema",
    "says_read_only",
    "says_destructive",
    "hash",
    "offered",
    "accepted_hash",
    "accepted_text",
)


# The lines with which each diff begins.
HEAD_OF_DIFF = ("--- accepted", "+++ now")


class McpToolChanged(Conflict):
    """The server describes a tool otherwise now. Look at the new text, and decide again; nothing was stored."""

    code = "mcp_tool_changed"


@dataclass(frozen=True, slots=True)
class ToolDecision:
    """What a person decides on a tool. None leaves it as it is. ``hash`` is that of the description that was read."""

    name: str
    hash: str = ""
    accept: bool | None = None
    safe: bool | None = None
    enabled: bool | None = None


@transaction.atomic
def report(
    agent_id: UUID,
    server_id: UUID,
    *,
    state: ServerState,
    error: str = "",
    offer: ServerOffer | None = None,
    settings: McpServer | McpServerSettings | None = None,
) -> Mapping[str, PinnedTool]:
    """Store the health of a server of this agent, and its tools if it offered any; gives those that it offers.

    A new or changed tool waits for a person. The first tools of a server with ``accept_first`` are accepted. The map
    is empty if the server was deleted meanwhile. ``settings`` are those with which it was reached: if another program
    or host stands in its place now, nothing is stored, and the map is empty too.
    """
    found = McpServer.objects.select_for_update(no_key=True).filter(pk=server_id, agent=agent_id)
    server = found.first()
    # guard: mcp-report-of-a-former-server-stores-nothing
    if server is None or (settings is not None and is_another(server, settings)):
        return {}
    before = (server.health_state, server.health_error)
    server.health_state, server.health_error = state.value, _storable_error(server, error)
    facts: dict[str, Any] = {
        "health_state": server.health_state,
        "health_error": server.health_error,
        "checked_at": timezone.now(),
    }
    changed = before != (server.health_state, server.health_error)
    if offer is not None:
        changed |= _store_offer(server, offer)
        facts |= {"has_resources": offer.resources, "has_prompts": offer.prompts}
    # Not ``save``: ``updated_at`` stays, or a person's change of a setting would be refused.
    McpServer.objects.filter(pk=server.pk).update(**facts)
    if changed:
        tell_pages(server)
    return pins_of(server)


def pins_of(server: McpServer) -> dict[str, PinnedTool]:
    """The tools that the server offers, by its own names of them."""
    return {tool.name: tool.pin for tool in server.tools.offered()}


def _storable_error(server: McpServer, error: str) -> str:
    """The error without the secrets of the server, which it may repeat."""
    if not error:
        return ""
    with suppress(encryption.SecretUnreadable):  # then no secret was sent that it could repeat
        error = text_without_secrets(error, mcp_secrets.plain_secrets(server))
    return to_storable(error)[:MAX_ERROR_CHARACTERS]


def _store_offer(server: McpServer, offer: ServerOffer) -> bool:
    """Store the offered tools; gives whether one is new, gone or changed."""
    stored = {tool.name: tool for tool in server.tools.all()}
    accept = server.accept_first and not stored
    made, changed = [], []
    for each in offer.tools[:MAX_TOOLS]:
        tool = stored.pop(each.name, None)
        if tool is None:
            made.append(_set(McpTool(server=server, name=each.name), each, accept=accept))
        elif tool.hash != each.hash or not tool.offered:
            changed.append(_set(tool, each, accept=False))
    gone = [tool for tool in stored.values() if tool.offered]
    for tool in gone:
        tool.offered = False
    McpTool.objects.bulk_create(made)
    McpTool.objects.bulk_update([*changed, *gone], OFFER_COLUMNS)
    # Of those that are gone, only what people decided is worth its place.
    server.tools.filter(offered=False, accepted_hash="", refused_hash="").delete()
    if made and accept:
        _record(server, "mcp_tools.accepted", [tool.name for tool in made], by=None)
    return bool(made or changed or gone)


def _set(tool: McpTool, offer: OfferedTool, *, accept: bool) -> McpTool:
    tool.description, tool.schema = offer.description, dict(offer.schema)
    tool.says_read_only, tool.says_destructive = offer.says_read_only, offer.says_destructive
    tool.hash, tool.offered = offer.hash, True
    if accept:
        tool.accepted_hash, tool.accepted_text = tool.hash, text_of(tool)
    return tool


def text_of(tool: McpTool) -> str:
    """Everything that is pinned of a tool, as one text that people can compare."""
    hints = {"reads only": tool.says_read_only, "may destroy": tool.says_destructive}
    said = ", ".join(name for name, value in hints.items() if value) or "nothing"
    schema = json.dumps(tool.schema, indent=1, sort_keys=True, ensure_ascii=False)
    return f"{tool.description}\n\nIts server says of it: {said}.\n\nArguments:\n{schema}\n"


def diff_of(tool: McpTool) -> str:
    """From the accepted text of a tool to the present one, as a unified diff; empty if there is none to compare."""
    if not tool.accepted_hash or tool.is_accepted:
        return ""
    old, new = (text.splitlines() for text in (tool.accepted_text, text_of(tool)))
    # guard: mcp-long-texts-are-not-compared
    if max(len(old), len(new)) > MAX_COMPARED_LINES:
        return "\n".join(
            [*HEAD_OF_DIFF, *(f"-{each}" for each in old), *(f"+{each}" for each in new)]
        )
    return "\n".join(difflib.unified_diff(old, new, "accepted", "now", lineterm=""))


@transaction.atomic
def decide(
    server: McpServer, decisions: Sequence[ToolDecision], *, by: audit.HasActor | None
) -> None:
    """Accept, refuse or switch tools of a server: all decisions, or none.

    A changed tool loses ``safe``, which was said of another description, unless it is given.

    Raises ``Invalid`` if the server offers no such tool or ``safe`` is said of one that is not accepted, and
    ``McpToolChanged`` if a description is not the one that the person has read.
    """
    McpServer.objects.select_for_update(no_key=True).get(pk=server.pk)
    tools = {tool.name: tool for tool in server.tools.offered()}
    errors: dict[str, list[str]] = {}
    for number, decision in enumerate(decisions):
        if (tool := tools.get(decision.name)) is None:
            errors[f"tools.{number}.name"] = ["The server offers no such tool."]
        elif error := _apply(tool, decision):
            errors[f"tools.{number}.safe"] = [error]
    if errors:
        raise Invalid(fields=errors)
    changed = [tools[decision.name] for decision in decisions]
    columns = ("accepted_hash", "accepted_text", "refused_hash", "safe", "enabled")
    McpTool.objects.bulk_update(changed, columns)
    for action, names in _actions(decisions).items():
        _record(server, f"mcp_tools.{action}", names, by=by)
    tell_pages(server)


def _apply(tool: McpTool, decision: ToolDecision) -> str:
    """Set the decision on the tool; gives an error in words. Raises ``McpToolChanged``."""
    if decision.accept is not None:
        # guard: mcp-decision-on-what-was-read
        if decision.hash != tool.hash:
            raise McpToolChanged
        _accept(tool) if decision.accept else _refuse(tool)
    if decision.safe is not None:
        if decision.safe and not tool.is_accepted:
            return "Accept the tool first."
        tool.safe = decision.safe
    if decision.enabled is not None:
        tool.enabled = decision.enabled
    return ""


def _accept(tool: McpTool) -> None:
    if not tool.is_accepted:
        tool.safe = False
    tool.accepted_hash, tool.accepted_text, tool.refused_hash = tool.hash, text_of(tool), ""


def _refuse(tool: McpTool) -> None:
    """The description that was accepted before stays so: the tool works again if its server goes back to it."""
    if tool.is_accepted:
        tool.accepted_hash = tool.accepted_text = ""
    tool.refused_hash = tool.hash


def _actions(decisions: Sequence[ToolDecision]) -> dict[str, list[str]]:
    """The names of the tools by what was decided on them."""
    found: dict[str, list[str]] = {}
    for decision in decisions:
        said = {
            "accepted": decision.accept is True,
            "refused": decision.accept is False,
            "said_safe": decision.safe is True,
            "said_unsafe": decision.safe is False,
            "switched_on": decision.enabled is True,
            "switched_off": decision.enabled is False,
        }
        for action in (name for name, value in said.items() if value):
            found.setdefault(action, []).append(decision.name)
    return found


def _record(server: McpServer, action: str, names: list[str], *, by: audit.HasActor | None) -> None:
    audit.record(action, server, by=by, **place_of(server), tools=names[:MAX_TOOLS])
