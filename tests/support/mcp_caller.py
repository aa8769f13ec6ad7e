"""Calls Paca's MCP server: ``McpCaller(server.port, token).tool("get_task", ...)``."""

import http.client
import json
from typing import Any

OLD, NEW = "2025-06-18", "2026-07-28"
ACCEPTED = "application/json, text/event-stream"


class McpCaller:
    """Sends JSON-RPC by plain HTTP in one revision of the protocol, and reads JSON and event streams."""

    def __init__(self, port: int, token: str = "", version: str = OLD, path: str = "/mcp/") -> None:
        self.port, self.token, self.version, self.path = port, token, version, path
        self.next_id = 0

    def send(
        self, body: bytes | str, method: str = "POST", **headers: str | None
    ) -> tuple[int, Any]:
        """The status, and the JSON of the answer or of the last event. A header of None is left out."""
        named: dict[str, str | None] = {
            "Content-Type": "application/json",
            "Accept": ACCEPTED,
            "MCP-Protocol-Version": self.version,
            **({"Authorization": f"Bearer {self.token}"} if self.token else {}),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            sent = {name: value for name, value in named.items() if value is not None}
            line.request(method, self.path, body, sent)
            answer = line.getresponse()
            self.headers = answer.headers
            return answer.status, _read(answer.read().decode())
        finally:
            line.close()

    def ask(self, method: str, params: Any = None, **headers: str | None) -> tuple[int, Any]:
        """One request of JSON-RPC."""
        self.next_id += 1
        params = dict(params or {})
        if self.version == NEW:
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": NEW,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            headers = {"Mcp_Method": method, **headers}
            if "name" in params:
                headers["Mcp_Name"] = params["name"]
        body = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}
        return self.send(json.dumps(body), **headers)

    def result(self, name: str, **arguments: Any) -> tuple[Any, bool]:
        """The JSON that a tool gives, and whether it is an error."""
        given = {key: value if _is_json(value) else str(value) for key, value in arguments.items()}
        status, answer = self.ask("tools/call", {"name": name, "arguments": given})
        assert status == 200, (status, answer)
        result = answer["result"]
        return json.loads(result["content"][0]["text"]), result.get("isError", False)

    def tool(self, name: str, **arguments: Any) -> Any:
        """What a call gives that succeeds."""
        given, is_error = self.result(name, **arguments)
        assert not is_error, given
        return given

    def error(self, name: str, **arguments: Any) -> Any:
        """The error of a call that fails."""
        given, is_error = self.result(name, **arguments)
        assert is_error, given
        return given


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | list | dict)


def _read(text: str) -> Any:
    events = [
        line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()
    ]
    found = events[-1] if events else text
    try:
        return json.loads(found)
    except ValueError:
        return found
