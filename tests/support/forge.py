"""A git host of one address, as Gitea is: real git by HTTP, the API for pull requests, and signed webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import urllib.request
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.support.git_host_server import TOKEN, GitHostServer
from tests.support.git_server import GitServer, _Handler
from tests.support.json_server import Asked


def is_signed_in(authorization: str) -> bool:
    """Whether it is the token as a password; Gitea takes any name with it."""
    scheme, _, value = authorization.partition(" ")
    return scheme == "Basic" and base64.b64decode(value).decode().partition(":")[2] == TOKEN


class Forge(GitServer):
    """``with Forge(folder) as forge:`` with the repository ``team/shop``, whose clones and pushes need the token."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, header="")
        self.api = _Api(self)
        self._http.RequestHandlerClass = type("Handler", (_ForgeHandler,), {"git_server": self})
        self.create("team/shop", {"README.md": b"# Shop\n", "totals.py": b"TOTAL = 1\n"})

    @property
    def secrets(self) -> set[bytes]:
        """The token, and what has carried it."""
        carried = {headers.get("authorization", "") for _, _, headers in self.requests}
        return {TOKEN.encode(), *(each.split()[1].encode() for each in carried if " " in each)}

    def ask(self, hook: str, secret: str, *, event: str, **facts: Any) -> int:
        """Send a webhook about the newest pull request to Paca; gives the status of its answer."""
        pull = self.api.pulls[-1]
        told = {
            "action": "reviewed",
            "repository": {"full_name": "team/shop"},
            "pull_request": {key: pull[key] for key in ("number", "html_url", "user", "merged")},
            "sender": {"login": "ada", "type": "User"},
            "nonce": uuid4().hex,
            **facts,
        }
        body = json.dumps(told).encode()
        headers = {
            "Content-Type": "application/json",
            "X-Gitea-Event": event,
            "X-Gitea-Delivery": uuid4().hex,
            "X-Gitea-Signature": hmac.new(secret.encode(), body, hashlib.sha256).hexdigest(),
        }
        request = urllib.request.Request(hook, body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)

    def review(self, hook: str, secret: str, text: str) -> int:
        """A person who may write asks for a change of the newest pull request."""
        review = {"type": "pull_request_review_rejected", "content": text}
        return self.ask(hook, secret, event="pull_request_rejected", review=review)


class _Api(GitHostServer):
    """The API, which knows the branches that git has."""

    def __init__(self, forge: Forge) -> None:
        self._forge = forge
        super().__init__("gitea")
        self._server._server.server_close()  # the forge serves it

    @property
    def base_url(self) -> str:
        return self._forge.address

    def answer(self, asked: Asked) -> tuple[int, Any]:
        refs = self._forge.refs("team/shop")
        self.branches = {ref.removeprefix("refs/heads/") for ref in refs}
        return self._answer(asked)


class _ForgeHandler(_Handler):
    git_server: Forge

    def _serve(self) -> None:
        if not self.path.startswith("/api/"):
            if is_signed_in(self.headers.get("authorization", "")):
                super()._serve()
            else:
                self.close_connection = True
                self._answer(401, [("WWW-Authenticate", 'Basic realm="Gitea"')])
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0))).decode()
        self.git_server.requests.append((self.command, self.path, headers))
        status, value = self.git_server.api.answer(Asked(self.command, self.path, headers, body))
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
