"""A git host with the API of GitHub or Gitea, over real HTTP. It is as strict about headers and bodies as they are."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.support.json_server import Asked, JsonServer

TOKEN = "git-token-0123456789abcdef"
APP_TOKEN = "ghs_0123456789abcdefghijklmnopqrstuvwxyz"
ACCOUNT = "paca-bot"


@dataclass
class GitHostServer:
    """``with GitHostServer("gitea") as git:`` with one repository ``team/shop``.

    ``writers`` may write to it. ``public_key`` checks the signature of a GitHub app, whose number is 17 and whose
    installation 99.
    """

    kind: str
    writers: set[str] = field(default_factory=lambda: {"ada"})
    pulls: list[dict[str, Any]] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    review_comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    branches: set[str] = field(default_factory=lambda: {"main", "fix-totals"})
    public_key: Any = None
    token_hours: float = 1.0

    def __post_init__(self) -> None:
        self._server = JsonServer(self._answer)

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    @property
    def asked(self) -> list[Asked]:
        """The requests so far."""
        return self._server.asked

    @property
    def base_url(self) -> str:
        """The address of the server."""
        return self._server.base_url

    @property
    def opened(self) -> int:
        """How many pull requests were asked to be opened."""
        return sum(
            a.method == "POST" and urlsplit(a.path).path.endswith("/pulls") for a in self.asked
        )

    def open_pull(
        self, branch: str, base: str = "main", title: str = "Fix", **facts: Any
    ) -> dict[str, Any]:
        """A pull request that is open on the server."""
        number = len(self.pulls) + 1
        pull = {
            "number": number,
            "html_url": f"{self.base_url}/team/shop/pulls/{number}",
            "state": "open",
            "merged": False,
            "title": title,
            "head": {"ref": branch, "label": f"team:{branch}", "repo_id": 1},
            "base": {"ref": base, "label": f"team:{base}", "repo_id": 1},
            "user": {"login": ACCOUNT, "type": "User"},
            **facts,
        }
        self.pulls.append(pull)
        return pull

    def _answer(self, asked: Asked) -> tuple[int, Any]:
        url = urlsplit(asked.path)
        prefix = "/api/v1" if self.kind == "gitea" else "/api/v3"
        if not url.path.startswith(prefix + "/"):
            return 404, {"message": "Not Found"}
        if not asked.headers.get("user-agent"):
            return 403, {"message": "Request forbidden by administrative rules."}
        if asked.method == "POST" and asked.headers.get("content-type") != "application/json":
            return 415, {"message": "Unsupported Media Type"}
        path = url.path.removeprefix(prefix)
        if self.kind == "github":
            if asked.headers.get("x-github-api-version") != "2022-11-28":
                return 400, {"message": "Give a version of the API."}
            if path.startswith("/app"):
                return self._app(asked, path)
        if not self._is_signed_in(asked):
            return 401, {"message": "Bad credentials"}
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        body = json.loads(asked.body) if asked.body else {}
        return self._route(asked.method, path, query, body)

    def _is_signed_in(self, asked: Asked) -> bool:
        given = asked.headers.get("authorization", "")
        if self.kind == "gitea":
            basic = base64.b64encode(f"paca:{TOKEN}".encode()).decode()
            return given in (f"token {TOKEN}", f"Bearer {TOKEN}", f"Basic {basic}")
        return given in (f"Bearer {TOKEN}", f"token {TOKEN}", f"Bearer {APP_TOKEN}")

    def _app(self, asked: Asked, path: str) -> tuple[int, Any]:
        scheme, _, token = asked.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not self._is_signed_by_the_app(token):
            return 401, {"message": "A JSON web token could not be decoded"}
        if path == "/app":
            return 200, {"slug": "paca", "id": 17}
        if asked.method != "POST" or path != "/app/installations/99/access_tokens":
            return 404, {"message": "Not Found"}
        wanted = json.loads(asked.body)
        if wanted.get("repositories") != ["shop"]:
            return 422, {"message": "There is at least one repository that does not exist."}
        until = datetime.now(UTC) + timedelta(hours=self.token_hours)
        stamp = until.strftime("%Y-%m-%dT%H:%M:%SZ")
        return 201, {"token": APP_TOKEN, "expires_at": stamp, "permissions": wanted["permissions"]}

    def _is_signed_by_the_app(self, token: str) -> bool:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding

        head, claims, signature = token.split(".")
        try:
            self.public_key.verify(
                _decoded(signature),
                f"{head}.{claims}".encode(),
                padding.PKCS1v15(),
                hashes.SHA256(),
            )
        except InvalidSignature:
            return False
        facts, now = json.loads(_decoded(claims)), datetime.now(UTC).timestamp()
        in_time = facts["iat"] <= now < facts["exp"] and facts["exp"] - facts["iat"] <= 600
        return json.loads(_decoded(head))["alg"] == "RS256" and in_time and facts["iss"] == "17"

    def _route(  # noqa: C901 - one case for each address
        self, method: str, path: str, query: dict[str, str], body: dict[str, Any]
    ) -> tuple[int, Any]:
        if path == "/user":
            return 200, {"login": ACCOUNT}
        if not path.startswith("/repos/team/shop"):
            return 404, {"message": "Not Found"}
        match method, path.removeprefix("/repos/team/shop").strip("/").split("/"):
            case "GET", [""]:
                return 200, {"full_name": "team/shop", "default_branch": "main"}
            case "GET", ["pulls"]:
                return 200, self._listed(query)
            case "POST", ["pulls"]:
                return self._open(body)
            case "GET", ["collaborators", name, "permission"]:
                return 200, {"permission": "write" if name in self.writers else "read"}
            case "GET", ["pulls", _, "reviews"]:
                return 200, self.reviews
            case "GET", ["pulls", _, "reviews", review, "comments"]:
                return 200, self.review_comments.get(int(review), [])
        return 404, {"message": "Not Found"}

    def _listed(self, query: dict[str, str]) -> list[dict[str, Any]]:
        found = [each for each in self.pulls if each["state"] == query.get("state", "open")]
        if self.kind == "github":
            head = query.get("head")
            return [each for each in found if head is None or each["head"]["label"] == head]
        page, limit = int(query.get("page", 1)), int(query.get("limit", 30))
        return found[(page - 1) * limit : page * limit]

    def _open(self, body: dict[str, Any]) -> tuple[int, Any]:
        taken = 409 if self.kind == "gitea" else 422
        if not {"title", "head", "base"} <= set(body):
            return 422, {"message": "Validation Failed"}
        missing = {body["head"], body["base"]} - self.branches
        if missing:
            status = 404 if self.kind == "gitea" else 422
            return status, {"message": f"{missing.pop()} does not exist"}
        if any(e["head"]["ref"] == body["head"] and e["state"] == "open" for e in self.pulls):
            return taken, {"message": f"A pull request already exists for team:{body['head']}."}
        return 201, self.open_pull(body["head"], body["base"], body["title"], body=body.get("body"))


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
