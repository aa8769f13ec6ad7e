"""The API of Gitea and Forgejo."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from urllib.parse import quote

from paca.repositories.hosts.base import PullRequest, ReviewComment
from paca.repositories.hosts.client import Answer, ApiClient
from paca.repositories.hosts.errors import GitServerFailed, GitServerRefused, RepositoryMissing

PAGE, MAX_PAGES, MAX_COMMENTS = 50, 20, 50
WRITING = ("write", "admin", "owner")


class Gitea:
    """Satisfies ``GitHost``. ``path`` is owner and name; with a ``username`` the secret is a password."""

    def __init__(
        self, base_url: str, path: str, secret: str, username: str = "", seconds: float = 15.0
    ) -> None:
        headers = {}
        if secret and username:
            pair = b64encode(f"{username}:{secret}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        elif secret:
            headers["Authorization"] = f"token {secret}"
        self._has_credentials = bool(secret)
        self._api = ApiClient(f"{base_url.rstrip('/')}/api/v1", headers, seconds)
        self._repository = f"/repos/{path}"

    def default_branch(self) -> str:
        """See ``GitHost``."""
        return str(self._api.get(self._repository).facts.get("default_branch") or "")

    def account(self) -> str:
        """See ``GitHost``."""
        if not self._has_credentials:
            return ""
        # A token may be limited to repositories, so that it may not read its own account.
        answer = self._api.get("/user", allow=(403,))
        return str(answer.facts.get("login") or "")

    def find_pull_request(self, head: str) -> PullRequest | None:
        """See ``GitHost``. The API has no filter by branch in all its versions, so the open ones are read."""
        for page in range(1, MAX_PAGES + 1):
            answer = self._api.get(
                f"{self._repository}/pulls",
                state="open",
                sort="recentupdate",
                page=page,
                limit=PAGE,
            )
            for each in answer.items:
                source = each.get("head") or {}
                base_repository = (each.get("base") or {}).get("repo_id")
                if source.get("ref") == head and source.get("repo_id") == base_repository:
                    return pull_request_of(each)
            if len(answer.items) < PAGE:
                break
        return None

    def create_pull_request(self, head: str, base: str, title: str, body: str) -> PullRequest:
        """See ``GitHost``."""
        wanted = {"head": head, "base": base, "title": title, "body": body}
        answer = self._api.post(f"{self._repository}/pulls", wanted, allow=(404, 409, 422))
        if answer.status == 201:
            return pull_request_of(answer.facts)
        if answer.status == 409 and (found := self.find_pull_request(head)):
            return found
        raise _not_opened(answer, head, base)

    def may_write(self, account: str) -> bool:
        """See ``GitHost``. The server tells it to administrators of the repository only."""
        path = f"{self._repository}/collaborators/{quote(account, safe='')}/permission"
        try:
            return self._api.get(path).facts.get("permission") in WRITING
        except (GitServerRefused, RepositoryMissing):
            return False

    def last_review_comments(self, number: int, account: str) -> list[ReviewComment]:
        """See ``GitHost``. A webhook of the server tells the words of a review, and not those on lines."""
        reviews = f"{self._repository}/pulls/{number}/reviews"
        mine = [
            each
            for each in self._api.get(reviews, limit=PAGE).items
            if _login(each) == account.lower() and each.get("comments_count")
        ]
        if not mine:
            return []
        newest = max(mine, key=lambda each: int(each.get("id") or 0))
        found = self._api.get(f"{reviews}/{int(newest['id'])}/comments").items
        return [
            ReviewComment(str(each.get("path") or ""), _line(each), str(each.get("body") or ""))
            for each in found[:MAX_COMMENTS]
        ]


def pull_request_of(facts: dict[str, Any]) -> PullRequest:
    """A pull request as GitHub and Gitea write it. Raises ``GitServerFailed`` if it has no number or address."""
    number, url = facts.get("number"), facts.get("html_url")
    if not isinstance(number, int) or not isinstance(url, str) or not url.startswith("http"):
        raise GitServerFailed("The git server answers with something that is no pull request.")
    state = "merged" if facts.get("merged") or facts.get("merged_at") else facts.get("state")
    return PullRequest(
        number,
        url,
        str(state or "open"),
        head=str((facts.get("head") or {}).get("ref") or ""),
        base=str((facts.get("base") or {}).get("ref") or ""),
        title=str(facts.get("title") or ""),
    )


def _not_opened(answer: Answer, head: str, base: str) -> GitServerFailed:
    said = answer.said or "it does not say why"
    return GitServerFailed(
        f"The server opens no pull request of {head} into {base}: {said}. Are both branches pushed, and is there a"
        " commit that only the first one has?"
    )


def _login(facts: dict[str, Any]) -> str:
    return str((facts.get("user") or {}).get("login") or "").lower()


def _line(facts: dict[str, Any]) -> int | None:
    """The line of a comment; the server calls it a position."""
    line = facts.get("position") or facts.get("original_position")
    return line if isinstance(line, int) and line > 0 else None
