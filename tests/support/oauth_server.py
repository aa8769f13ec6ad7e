"""An MCP server over real HTTP that is its own sign-in service: with PKCE, registration and tokens that rotate.

A refresh token works once: who uses it again loses the whole sign-in, as the standard says.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode, urlsplit

SCHEMA = {"type": "object", "properties": {"open": {"type": "boolean"}}}
# status, headers, JSON
Answer = tuple[int, dict[str, str], Any]


@dataclass
class OAuthServer:
    """``asked`` are method and path of all requests. ``metadata`` and ``resource`` are changed by tests."""

    seconds: int = 3600
    asked: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    resource: dict[str, Any] = field(default_factory=dict)
    description: str = "List the issues."
    overrides: dict[str, Answer] = field(default_factory=dict)
    registered: list[dict[str, Any]] = field(default_factory=list)
    token_forms: list[dict[str, str]] = field(default_factory=list)

    gate: threading.Event | None = None  # requests for tokens wait for it

    def __post_init__(self) -> None:
        self._codes: dict[str, dict[str, str]] = {}
        self._access: set[str] = set()
        self._refresh: set[str] = set()
        self._used: set[str] = set()
        self._count = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self.url = f"{self.origin}/mcp"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def refuse_tokens(self) -> None:
        """From now on no access token that was given works."""
        self._access.clear()

    def answer(self, method: str, target: str, headers: dict[str, str], body: str) -> Answer:
        """The answer to a request."""
        parts = urlsplit(target)
        self.asked.append(f"{method} {parts.path}")
        if self.gate is not None and parts.path == "/token":
            assert self.gate.wait(60)
        with self._lock:
            if parts.path in self.overrides:
                return self.overrides[parts.path]
            routes: dict[str, Callable[[], Answer]] = {
                "/mcp": lambda: self._mcp(headers, body),
                "/.well-known/oauth-protected-resource/mcp": self._resource_facts,
                "/.well-known/oauth-authorization-server": self._facts,
                "/register": lambda: self._register(json.loads(body)),
                "/authorize": lambda: self._authorize(dict(parse_qsl(parts.query))),
                "/token": lambda: self._token(dict(parse_qsl(body)), headers),
            }
            route = routes.get(parts.path)
            return route() if route else (404, {}, {})

    def _resource_facts(self) -> Answer:
        facts = {"resource": self.url, "authorization_servers": [self.origin], **self.resource}
        return 200, {}, facts

    def _facts(self) -> Answer:
        facts = {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "registration_endpoint": f"{self.origin}/register",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "scopes_supported": ["read", "offline_access"],
            **self.metadata,
        }
        return 200, {}, {name: value for name, value in facts.items() if value is not None}

    def _register(self, wanted: dict[str, Any]) -> Answer:
        self.registered.append(wanted)
        return 201, {}, {**wanted, "client_id": f"client-{len(self.registered)}"}

    def _authorize(self, asked: dict[str, str]) -> Answer:
        """The person agrees at once."""
        self._count += 1
        code = f"code-{self._count}"
        self._codes[code] = asked
        back = {"code": code, "state": asked["state"], "iss": self.origin}
        return 302, {"Location": f"{asked['redirect_uri']}?{urlencode(back)}"}, {}

    def _token(self, form: dict[str, str], headers: dict[str, str]) -> Answer:
        basic = headers.get("authorization", "").removeprefix("Basic ")
        if basic:
            form["client_id"] = base64.b64decode(basic).decode().partition(":")[0]
            form["basic"] = basic
        self.token_forms.append(form)
        if form["grant_type"] == "refresh_token":
            return self._refreshed(form["refresh_token"])
        asked = self._codes.pop(form["code"], {})
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        same = ("client_id", "redirect_uri", "resource")
        if challenge != asked.get("code_challenge") or any(form[n] != asked[n] for n in same):
            return 400, {}, {"error": "invalid_grant"}
        return self._granted()

    def _refreshed(self, token: str) -> Answer:
        if token in self._used or token not in self._refresh:
            self._refresh.clear()
            self._access.clear()
            return 400, {}, {"error": "invalid_grant", "error_description": "used before"}
        self._used.add(token)
        return self._granted()

    def _granted(self) -> Answer:
        self._count += 1
        access, refresh = f"access-{self._count:08}", f"refresh-{self._count:08}"
        self._access.add(access)
        self._refresh.add(refresh)
        facts = {"access_token": access, "refresh_token": refresh, "token_type": "Bearer"}
        return 200, {}, {**facts, "expires_in": self.seconds}

    def _mcp(self, headers: dict[str, str], body: str) -> Answer:
        token = headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self._access:
            where = f"{self.origin}/.well-known/oauth-protected-resource/mcp"
            challenge = f'Bearer resource_metadata="{where}", scope="read"'
            return 401, {"WWW-Authenticate": challenge}, {"error": "invalid_token"}
        asked = json.loads(body or "{}")
        if "id" not in asked:
            return 202, {}, None
        tool = {"name": "issues", "description": self.description, "inputSchema": SCHEMA}
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "issues", "version": "1"},
            },
            "tools/list": {"tools": [tool]},
        }
        said = {"jsonrpc": "2.0", "id": asked["id"]}
        if (result := results.get(asked.get("method"))) is None:
            return 200, {}, {**said, "error": {"code": -32601, "message": "no such method"}}
        return 200, {}, {**said, "result": result}


def _handler(server: OAuthServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, more, value = server.answer(self.command, self.path, headers, body)
            content = b"" if value is None else json.dumps(value).encode()
            self.send_response(status)
            for name, text in more.items():
                self.send_header(name, text)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_DELETE = do_POST

        def log_message(self, *_: object) -> None:
            pass

    return Handler
