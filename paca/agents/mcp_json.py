"""Reads and writes the JSON with ``mcpServers`` that Claude Desktop, VS Code, Cursor and others use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from paca.agents import mcp_secrets
from paca.agents.models import McpServer
from paca.common.errors import Invalid

# The names of the object with the servers: of most programs, of VS Code, and of VS Code's settings.
ROOTS = (("mcpServers",), ("servers",), ("mcp", "servers"))
TRANSPORTS = {
    "stdio": "stdio",
    "sse": "sse",
    "http": "http",
    "streamable-http": "http",
    "streamablehttp": "http",
    "streamable_http": "http",
}
URLS, TYPES, SWITCHES = ("url", "serverUrl"), ("type", "transport"), ("disabled", "enabled")
KNOWN = frozenset({"command", "args", "env", "headers", *URLS, *TYPES, *SWITCHES})
BESIDE_SERVERS = frozenset(
    {"inputs"}
)  # what VS Code asks people for; a value that refers to one is refused
EXAMPLE = 'Paste an object such as {"mcpServers": {"git": {"command": "git-mcp"}}}.'
MAX_SERVERS, MAX_NAME_CHARACTERS = 20, 100
Errors = dict[str, list[str]]


class BadMcpJson(Invalid):
    """Nothing was added: this JSON with MCP servers cannot be used."""


def read(value: Any) -> list[dict[str, Any]]:
    """The settings of each server with its name, for ``mcp_servers.create``.

    Raises ``BadMcpJson`` with the errors by their place, such as ``mcpServers.git.comand``.
    """
    root, servers = _servers(value)
    errors: Errors = {}
    found = [
        _server(f"{root}.{shown(name)}", name, entry, errors) for name, entry in servers.items()
    ]
    _find_doubles(root, found, errors)
    if errors:
        raise BadMcpJson(fields=errors)
    return found


def _servers(value: Any) -> tuple[str, dict[str, Any]]:
    """The object with the servers and its name."""
    if not isinstance(value, dict):
        raise BadMcpJson(fields={"mcpServers": [EXAMPLE]})
    path: tuple[str, ...]
    for path in ROOTS:
        inner: Any = value
        for name in path:
            inner = inner.get(name) if isinstance(inner, dict) else None
        if inner is not None:
            _check_beside(value, path)
            break
    else:
        path, inner = (), value
        if not value or not all(_looks_like_a_server(each) for each in value.values()):
            raise BadMcpJson(fields={"mcpServers": [EXAMPLE]})
    root = ".".join(path) or "mcpServers"
    if not isinstance(inner, dict) or not inner:
        raise BadMcpJson(fields={root: ["Give an object with at least one server."]})
    if len(inner) > MAX_SERVERS:
        raise BadMcpJson(fields={root: [f"There are more than {MAX_SERVERS} servers in it."]})
    return root, inner


def _looks_like_a_server(entry: Any) -> bool:
    return isinstance(entry, dict) and not {"command", *URLS}.isdisjoint(entry)


def _check_beside(value: dict[str, Any], path: tuple[str, ...]) -> None:
    outer = value if len(path) == 1 else value[path[0]]
    unknown = [name for name in outer if name not in {path[-1], *BESIDE_SERVERS}]
    unknown += [name for name in value if outer is not value and name != path[0]]
    if unknown:
        raise BadMcpJson(
            fields={shown(name): ["Paca does not know this; take it out."] for name in unknown}
        )


def _server(place: str, name: str, entry: Any, errors: Errors) -> dict[str, Any]:
    """The settings of one entry; adds its errors."""
    if not isinstance(entry, dict):
        errors[place] = ["A server is an object."]
        return {}
    for key in entry:
        if key not in KNOWN:
            errors[f"{place}.{shown(key)}"] = [
                "Paca does not know this; take it out, or set it on the server afterwards."
            ]
    settings: dict[str, Any] = {"name": server_name(name)}
    if not settings["name"] or len(name) > MAX_NAME_CHARACTERS:
        errors[place] = ["The name needs a letter or a digit, and at most 100 characters."]
    _read_address(place, entry, settings, errors)
    _read_switch(place, entry, settings, errors)
    for key in ("args", "env", "headers"):
        if key in entry and entry[key] is not None:
            settings[key] = entry[key]
    _check_values(place, settings, errors)
    return settings


def _read_address(
    place: str, entry: dict[str, Any], settings: dict[str, Any], errors: Errors
) -> None:
    url_key = next((key for key in URLS if key in entry), "url")
    kind_key = next((key for key in TYPES if key in entry), "type")
    for key in ("command", url_key, kind_key):
        if key in entry and not isinstance(entry[key], str):
            errors[f"{place}.{key}"] = ["This is no text."]
            return
    command, url = entry.get("command", ""), entry.get(url_key, "")
    if bool(command) == bool(url):
        errors[place] = ["A server has either a command or a url."]
        return
    for key, text in (("command", command), (url_key, url)):
        if found := mcp_secrets.PLACEHOLDER.search(text):
            errors[f"{place}.{key}"] = [_placeholder(found[0])]
    kind = str(entry.get(kind_key) or ("stdio" if command else "http"))
    transport = TRANSPORTS.get(kind.lower())
    if transport is None:
        errors[f"{place}.{kind_key}"] = ["The types are stdio, sse and http."]
        return
    if (transport == "stdio") != bool(command):
        needs = "a command" if transport == "stdio" else "a url"
        errors[f"{place}.{kind_key}"] = [f"A server of this type has {needs}."]
    settings["transport"] = transport
    settings.update({"command": command} if command else {"url": url})


def _read_switch(
    place: str, entry: dict[str, Any], settings: dict[str, Any], errors: Errors
) -> None:
    for key in SWITCHES:
        if key not in entry:
            continue
        if not isinstance(entry[key], bool):
            errors[f"{place}.{key}"] = ["This is neither true nor false."]
        else:
            settings["enabled"] = entry[key] is (key == "enabled")


def _check_values(place: str, settings: dict[str, Any], errors: Errors) -> None:
    args = settings.get("args", [])
    if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
        errors[f"{place}.args"] = ["Give a list of texts."]
    elif found := next(filter(None, map(mcp_secrets.PLACEHOLDER.search, args)), None):
        errors[f"{place}.args"] = [_placeholder(found[0])]
    for key, find_errors in (
        ("env", mcp_secrets.find_errors_of_env),
        ("headers", lambda given: mcp_secrets.find_errors_of_headers(given, oauth=False)),
    ):
        if key in settings and (said := find_errors(settings[key])):
            errors[f"{place}.{key}"] = said


def _placeholder(text: str) -> str:
    return f"Replace {shown(text)} by its value; Paca fills in no placeholders."


def _find_doubles(root: str, found: Iterable[dict[str, Any]], errors: Errors) -> None:
    names = [each.get("name") for each in found]
    for name in {each for each in names if each and names.count(each) > 1}:
        errors[f"{root}.{name}"] = ["Two servers have this name here, where only a-z, 0-9 count."]


def server_name(name: str) -> str:
    """A name as Paca has it: small letters, digits and single dashes, such as ``brave-search``."""
    short = re.sub(r"[^a-z0-9_]+", "-", name.lower())
    short = re.sub(r"_{2,}", "_", short)[:30]
    return re.sub(r"[-_]*-[-_]*", "-", short).strip("-_")


def shown(name: str) -> str:
    """A name of the input as a path of an error has it."""
    return json.dumps(str(name)[:60], ensure_ascii=True)[1:-1]


def write(servers: Iterable[McpServer]) -> dict[str, Any]:
    """The servers as JSON for other programs. Secret values are ``***``."""
    return {"mcpServers": {server.name: _entry(server) for server in servers}}


def _entry(server: McpServer) -> dict[str, Any]:
    entry: dict[str, Any]
    if server.is_stdio:
        entry = {"command": server.command, "args": server.args}
        named: Mapping[str, list[str]] = {"env": server.env_names}
    else:
        entry = {"type": server.transport, "url": server.url}
        named = {"headers": server.header_names}
    entry |= {key: mcp_secrets.masked(names) for key, names in named.items() if names}
    return entry if server.enabled else {**entry, "disabled": True}
