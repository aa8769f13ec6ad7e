"""Services that add, change and delete the MCP servers of an agent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction

from paca.accounts import audit
from paca.agents import encryption, mcp_secrets
from paca.agents.mcp_secrets import UNCHANGED
from paca.agents.models import Agent, McpGrant, McpHealth, McpServer, Plugin
from paca.common import validation
from paca.common.errors import Conflict, Invalid
from paca.engine.mcp.settings import McpServerSettings
from paca.projects.signals import project_changed

MAX_SERVERS = 20
SETTINGS = frozenset(
    {
        "transport",
        "command",
        "args",
        "url",
        "auth",
        "oauth_client_id",
        "enabled",
        "private_addresses",
        "accept_first",
        "start_seconds",
        "call_seconds",
    }
)
# The rest of the settings: texts that are stored encrypted.
SECRETS = frozenset({"env", "headers", "oauth_client_secret"})
Errors = dict[str, list[str]]


class TooManyMcpServers(Conflict):
    """This agent has as many MCP servers as an agent can have. Delete one of them."""

    code = "too_many_mcp_servers"


# What a plugin says of the servers that it brings.
OF_PLUGIN = ("transport", "command", "args", "url")


def _of_plugin(server: McpServer) -> dict[str, Any]:
    return {name: getattr(server, name) for name in OF_PLUGIN}


class McpServerOfPlugin(Conflict):
    """A plugin has brought this MCP server. Change the plugin, or take it from the agent."""

    code = "mcp_server_of_plugin"


@transaction.atomic
def create(
    agent: Agent,
    *,
    name: str,
    by: audit.HasActor | None,
    plugin: Plugin | None = None,
    **settings: Any,
) -> McpServer:
    """Add an MCP server to an agent, which ``plugin`` has brought. ``settings`` are any of ``SETTINGS`` and ``SECRETS``.

    Raises ``Invalid`` with the errors of each field, ``TooManyMcpServers``, and ``ConfigurationError`` if a secret
    cannot be encrypted with ENCRYPTION_KEY.
    """
    _lock(agent)
    server = McpServer(agent=agent, name=name.strip(), plugin=plugin)
    _store(server, settings)
    if agent.mcp_servers.count() >= MAX_SERVERS:
        raise TooManyMcpServers(
            f"An agent has at most {MAX_SERVERS} MCP servers. Delete one first."
        )
    server.save(force_insert=True)
    audit.record(
        "mcp_server.created", server, by=by, **place_of(server), transport=server.transport
    )
    tell_pages(server)
    return server


@transaction.atomic
def change(
    server: McpServer, *, by: audit.HasActor | None, with_plugin: bool = False, **settings: Any
) -> McpServer:
    """Change the given settings. The name stays, because conversations refer to it by the names of its tools.

    A value of ``***`` stays as it is stored, unless the server moves to another host or gets another command line:
    then secrets are typed again, and a sign-in and the decisions on its tools are forgotten.

    ``with_plugin``: the plugin that has brought it has changed.

    Raises ``Invalid`` with the errors of each field, ``McpServerOfPlugin`` for what its plugin says, and
    ``ConfigurationError`` as ``create`` does.
    """
    before = McpServer.objects.select_for_update(no_key=True).get(pk=server.pk)
    is_other = any(settings.get(name, old) != old for name, old in _of_plugin(before).items())
    # guard: server-of-a-plugin-is-its-plugins
    if server.plugin_id is not None and is_other and not with_plugin:
        raise McpServerOfPlugin
    _store(server, settings)
    changed = sorted(
        [name for name in SETTINGS if getattr(before, name) != getattr(server, name)]
        + [name for name in SECRETS if name in settings and _is_other(before, server, name)]
    )
    if not changed:
        return server
    if is_another(server, before):
        server.tools.all().delete()
        server.health_state, server.health_error = McpHealth.UNKNOWN, ""
        server.checked_at = None
    if {"url", "auth", "transport", "oauth_client_id"} & set(changed):
        # guard: mcp-tokens-stay-with-their-server
        McpGrant.objects.filter(server=server).delete()
        server.sign_ins.all().delete()
    server.save()
    audit.record("mcp_server.changed", server, by=by, **place_of(server), fields=changed)
    tell_pages(server)
    return server


@transaction.atomic
def delete(server: McpServer, *, by: audit.HasActor | None, with_plugin: bool = False) -> None:
    """Delete the server with its secrets, tools and sign-in. Running turns keep it until they end.

    Raises ``McpServerOfPlugin`` if a plugin has brought it, which does not go ``with_plugin``.
    """
    if server.plugin_id is not None and not with_plugin:
        raise McpServerOfPlugin
    # Before its tools, as a worker that stores what the server offers.
    list(McpServer.objects.select_for_update(no_key=True).filter(pk=server.pk))
    audit.record("mcp_server.deleted", server, by=by, **place_of(server))
    tell_pages(server)
    server.delete()


def delete_all(agent: Agent, *, by: audit.HasActor | None) -> None:
    """Delete the servers of an agent that retires, with their secrets."""
    for server in agent.mcp_servers.all():
        delete(server, by=by, with_plugin=True)


def tell_pages(server: McpServer) -> None:
    """Let open pages know, in the transaction of a change."""
    agent = server.agent
    project_changed.send(
        sender=McpServer, project_id=agent.project_id, noun="agent", id=server.agent_id
    )


def _lock(agent: Agent) -> None:
    """One change of an agent's servers at a time, so that their number is right."""
    Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)


def _store(server: McpServer, settings: Mapping[str, Any]) -> None:
    """Set all given settings on the row. Raises ``Invalid`` with the errors of each field."""
    before = None if server._state.adding else McpServer.objects.get(pk=server.pk)
    for name, value in settings.items():
        if name in SETTINGS:
            setattr(server, name, value)
        elif name not in SECRETS:
            raise TypeError(f"an MCP server has no setting {name!r}")
    server.command, server.url = server.command.strip(), server.url.strip()
    if before is not None and before.is_stdio != server.is_stdio:
        _clear_other_transport(server, settings)
    errors = _find_errors(before, server, settings)
    _store_secrets(before, server, settings, errors)
    try:
        # ``_find_errors`` says better what is missing than the constraints.
        validation.check(server, exclude=tuple(errors))
    except Invalid as invalid:
        errors = {**invalid.fields, **errors}
    if errors:
        raise Invalid(fields=errors)


def _clear_other_transport(server: McpServer, settings: Mapping[str, Any]) -> None:
    """Take away what only the former transport has, unless it was given: that is an error."""
    if server.is_stdio:
        for name, empty in (("url", ""), ("auth", "none"), ("oauth_client_id", "")):
            if name not in settings:
                setattr(server, name, empty)
        if "headers" not in settings:
            server.header_names, server.encrypted_headers = [], ""
        server.encrypted_oauth_secret = ""
        return
    if "command" not in settings:
        server.command = ""
    if "args" not in settings:
        server.args = []
    if "env" not in settings:
        server.env_names, server.encrypted_env = [], ""


def _find_errors(
    before: McpServer | None, server: McpServer, settings: Mapping[str, Any]
) -> Errors:
    errors: Errors = {}
    wanted, other = ("command", "url") if server.is_stdio else ("url", "command")
    if not getattr(server, wanted):
        errors[wanted] = [f"A server with the transport {server.transport} needs this."]
    for name in (other, *(("headers",) if server.is_stdio else ("args", "env"))):
        if settings.get(name) or (name == other and getattr(server, name)):
            errors[name] = [f"A server with the transport {server.transport} has none."]
    if server.is_stdio and server.uses_oauth:
        errors["auth"] = ["Only servers over HTTP are signed in to."]
    new_secret = settings.get("oauth_client_secret", "") not in ("", UNCHANGED)
    if not server.uses_oauth and (server.oauth_client_id or new_secret):
        errors["oauth_client_id"] = ["This is for servers with OAuth only."]
    wants_private = server.private_addresses and not (before and before.private_addresses)
    # guard: mcp-private-addresses-of-the-project
    if wants_private and not server.agent.project.private_mcp_servers:
        errors["private_addresses"] = [
            "This project allows no MCP servers in private networks; its settings can change that."
        ]
    return errors


def _store_secrets(
    before: McpServer | None, server: McpServer, settings: Mapping[str, Any], errors: Errors
) -> None:
    """Encrypt the given secrets; adds the errors of those that cannot be stored."""
    moved = before is not None and origin_of(before.url) != origin_of(server.url)
    other_command = before is not None and is_another(server, before) and not moved
    for name, elsewhere in (("env", other_command), ("headers", moved)):
        stored_column, names_column = _columns(name)
        stored = getattr(server, stored_column)
        given = settings.get(name, dict.fromkeys(getattr(server, names_column), UNCHANGED))
        # Whether stored values may stay depends on where they go, and that of headers on the sign-in too.
        looks_again = elsewhere or (name == "headers" and "auth" in settings)
        if name in errors or not (name in settings or looks_again):
            continue
        if found := _errors_of(name, given, oauth=server.uses_oauth):
            errors[name] = found
            continue
        kept = [each for each, value in given.items() if value == UNCHANGED]
        # guard: mcp-values-stay-where-they-belong
        if kept and elsewhere:
            errors[name] = [_again(before)]
            continue
        try:
            values = mcp_secrets.merge(mcp_secrets.open_values(stored), given) if kept else given
        except KeyError as missing:
            errors[name] = [f"{missing.args[0]}: no value is stored; write it."]
            continue
        setattr(server, names_column, sorted(values))
        setattr(server, stored_column, mcp_secrets.seal_values(values))
    _store_client_secret(before, server, settings, errors, moved=moved)


def _errors_of(name: str, given: Any, *, oauth: bool) -> list[str]:
    if name == "env":
        return mcp_secrets.find_errors_of_env(given)
    return mcp_secrets.find_errors_of_headers(given, oauth=oauth)


def _store_client_secret(
    before: McpServer | None,
    server: McpServer,
    settings: Mapping[str, Any],
    errors: Errors,
    *,
    moved: bool,
) -> None:
    given = settings.get("oauth_client_secret", UNCHANGED)
    if given == UNCHANGED:
        # guard: mcp-client-secret-stays-with-its-host
        if moved and server.encrypted_oauth_secret and server.uses_oauth:
            errors["oauth_client_secret"] = [_again(before)]
        elif not server.uses_oauth:
            server.encrypted_oauth_secret = ""
        return
    if not (given.isascii() and given.isprintable()) or len(given) > 2000:
        errors["oauth_client_secret"] = ["A secret has printable plain characters only."]
    elif given and not server.oauth_client_id:
        errors["oauth_client_id"] = ["Write the client id that the secret belongs to."]
    else:
        server.encrypted_oauth_secret = encryption.encrypt(given) if given else ""


def _again(before: McpServer | None) -> str:
    if before is not None and before.is_stdio:
        return "Type the values again: the stored ones were given for the former command line and go to no other."
    host = urlsplit(before.url).netloc if before is not None else ""
    return f"Type it again: the stored one was given for {host} and is not sent elsewhere."


def _columns(name: str) -> tuple[str, str]:
    """The columns of the encrypted values and of their names."""
    return (
        ("encrypted_env", "env_names") if name == "env" else ("encrypted_headers", "header_names")
    )


def _is_other(before: McpServer, server: McpServer, name: str) -> bool:
    """Whether a secret was given anew. Encryption gives another text each time, so that a value is compared."""
    if name == "oauth_client_secret":
        old, new = before.encrypted_oauth_secret, server.encrypted_oauth_secret
        return old != new
    column, _ = _columns(name)
    return bool(
        mcp_secrets.open_values(getattr(before, column))
        != mcp_secrets.open_values(getattr(server, column))
    )


def is_another(server: McpServer, before: McpServer | McpServerSettings) -> bool:
    """Whether another program answers than with the settings ``before``, whose tools nobody has seen yet."""
    facts = [
        (each.transport, each.command, json.dumps(each.args), origin_of(each.url))
        for each in (before, server)
    ]
    # guard: mcp-another-server-is-accepted-anew
    return facts[0] != facts[1]


def origin_of(url: str) -> tuple[str, str]:
    """Scheme and host with port of an address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    return parts.scheme.lower(), parts.netloc.lower()


def place_of(server: McpServer) -> dict[str, Any]:
    """Where a server belongs, for the audit trail."""
    return {"project_id": server.agent.project_id, "agent": server.agent.name}
