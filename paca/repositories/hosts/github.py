"""The API of GitHub and GitHub Enterprise Server, with a token or as a GitHub app."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlsplit

from paca.repositories.hosts.base import PullRequest, ReviewComment
from paca.repositories.hosts.client import Answer, ApiClient, inner
from paca.repositories.hosts.errors import GitServerFailed, GitServerRefused, RepositoryMissing
from paca.repositories.hosts.gitea import pull_request_of
from paca.repositories.signing import rs256

VERSION = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
# GitHub allows ten minutes, by its clock.
JWT_SECONDS, JWT_EARLIER_SECONDS = 540, 60
MAX_TOKEN_SECONDS = 3600
MAX_COMMENTS = 50
PERMISSIONS = {"contents": "write", "pull_requests": "write"}
WRITING = ("write", "maintain", "admin")


def api_of(base_url: str) -> str:
    """The address of the API of a GitHub server."""
    parts = urlsplit(base_url)
    if parts.hostname in ("github.com", "www.github.com"):
        return "https://api.github.com"
    return f"{base_url.rstrip('/')}/api/v3"


@dataclass(frozen=True, slots=True)
class InstallationToken:
    """A token of an installed app for one repository. ``expires_at`` is at most an hour away."""

    value: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class GithubApp:
    """An installed GitHub app, which gets short-lived tokens."""

    base_url: str
    app_id: str
    installation_id: str
    private_key: str = field(repr=False)
    seconds: float = 15.0

    def token_for(self, path: str) -> InstallationToken:
        """A new token for the repository ``owner/name``, and for no other.

        Raises ``GitServerRefused`` if the app may not work on it, ``GitServerFailed`` and the other errors of
        ``hosts.errors``, and ``Invalid`` if the private key cannot be read.
        """
        wanted = {"repositories": [path.rpartition("/")[2]], "permissions": PERMISSIONS}
        address = f"/app/installations/{quote(self.installation_id, safe='')}/access_tokens"
        answer = self._api().post(address, wanted, allow=(422,))
        if answer.status == 422:
            raise GitServerRefused(
                f"GitHub gives the app no token for {path}: {answer.said or 'no reason'}. Add the repository to the"
                " installation, and give the app the rights to write contents and pull requests."
            )
        token, until = answer.facts.get("token"), _time(answer.facts.get("expires_at"))
        if not isinstance(token, str) or not token or until is None:
            raise GitServerFailed("GitHub answers without a token.")
        latest = datetime.now(UTC) + timedelta(seconds=MAX_TOKEN_SECONDS)
        return InstallationToken(token, min(until, latest))

    def slug(self) -> str:
        """The name of the app in addresses. Raises the errors of ``hosts.errors``."""
        return str(self._api().get("/app").facts.get("slug") or "")

    def _api(self) -> ApiClient:
        now = int(datetime.now(UTC).timestamp())
        claims = {
            "iat": now - JWT_EARLIER_SECONDS,
            "exp": now + JWT_SECONDS,
            "iss": self.app_id,
        }
        token = _jwt(claims, self.private_key)
        headers = {**VERSION, "Authorization": f"Bearer {token}"}
        return ApiClient(api_of(self.base_url), headers, self.seconds)


class Github:
    """Satisfies ``GitHost``. ``path`` is owner and name; an ``app`` stands in for the token."""

    def __init__(
        self, base_url: str, path: str, token: str, app: GithubApp | None, seconds: float = 15.0
    ) -> None:
        self._base, self._path, self._token, self._app = api_of(base_url), path, token, app
        self._seconds = seconds
        self._repository = f"/repos/{path}"
        self._opened: ApiClient | None = None

    @property
    def _api(self) -> ApiClient:
        if self._opened is None:
            token = self._app.token_for(self._path).value if self._app else self._token
            headers = {**VERSION, **({"Authorization": f"Bearer {token}"} if token else {})}
            self._opened = ApiClient(self._base, headers, self._seconds)
        return self._opened

    def default_branch(self) -> str:
        """See ``GitHost``."""
        return str(self._api.get(self._repository).facts.get("default_branch") or "")

    def account(self) -> str:
        """See ``GitHost``."""
        if self._app is not None:
            slug = self._app.slug()
            return f"{slug}[bot]" if slug else ""
        if not self._token:
            return ""
        return str(self._api.get("/user", allow=(403,)).facts.get("login") or "")

    def find_pull_request(self, head: str) -> PullRequest | None:
        """See ``GitHost``."""
        owner = self._path.partition("/")[0]
        answer = self._api.get(
            f"{self._repository}/pulls", state="open", head=f"{owner}:{head}", per_page=100
        )
        # The server ignores a filter that it does not understand, and gives all.
        mine = [each for each in answer.items if inner(each, "head").get("ref") == head]
        return pull_request_of(mine[0]) if mine else None

    def create_pull_request(self, head: str, base: str, title: str, body: str) -> PullRequest:
        """See ``GitHost``."""
        wanted = {"head": head, "base": base, "title": title, "body": body}
        answer = self._api.post(f"{self._repository}/pulls", wanted, allow=(422,))
        if answer.status != 422:
            return pull_request_of(answer.facts)
        if found := self.find_pull_request(head):
            return found
        raise _not_opened(answer, head, base)

    def may_write(self, account: str) -> bool:
        """See ``GitHost``."""
        path = f"{self._repository}/collaborators/{quote(account, safe='')}/permission"
        try:
            facts = self._api.get(path).facts
        except (GitServerRefused, RepositoryMissing):
            return False
        return facts.get("permission") in WRITING

    def last_review_comments(self, number: int, account: str) -> list[ReviewComment]:
        """See ``GitHost``. The server sends each comment on a line by itself, so there is nothing to fetch."""
        return []


def _not_opened(answer: Answer, head: str, base: str) -> GitServerFailed:
    said = answer.said or "it does not say why"
    return GitServerFailed(
        f"GitHub opens no pull request of {head} into {base}: {said}. Are both branches pushed, and is there a commit"
        " that only the first one has?"
    )


def _jwt(claims: dict[str, Any], private_key: str) -> str:
    """A JSON Web Token that the app signs. Raises ``Invalid`` if the key cannot be read."""
    head = {"alg": "RS256", "typ": "JWT"}
    body = f"{_encoded(head)}.{_encoded(claims)}"
    return f"{body}.{_base64(rs256(body.encode(), private_key))}"


def _encoded(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value, separators=(",", ":")).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _time(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
