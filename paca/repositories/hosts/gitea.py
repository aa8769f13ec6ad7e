"""The API of Gitea and Forgejo."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from urllib.parse import quote

from paca.common.text import to_storable
from paca.repositories.hosts.base import PullRequest, ReviewComment
from paca.repositories.hosts.client import Answer, ApiClient, inner
from paca.repositories.hosts.errors import GitServerFailed, GitServerRefused, RepositoryMissing

PAGE, MAX_PAGES, MAX_COMMENTS = 50, 20, 50
WRITING = ("write", "admin", "owner")
MAX_URL_CHARACTERS, HIGHEST_NUMBER = 1000, 2**53


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
                source = inner(each, "head")
                base_repository = inner(each, "base").get("repo_id")
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
        newest = max(map(_id, mine))
        found = self._api.get(f"{reviews}/{newest}/comments").items
        return [
            ReviewComment(str(each.get("path") or ""), _line(each), str(each.get("body") or ""))
            for each in found[:MAX_COMMENTS]
        ]


def pull_request_of(facts: dict[str, Any]) -> PullRequest:
    """A pull request as GitHub and Gitea write it. Raises ``GitServerFailed`` if it has no number or address."""
    number, url = facts.get("number"), facts.get("html_url")
    is_number = type(number) is int and 0 < number < HIGHEST_NUMBER
    is_url = isinstance(url, str) and url.startswith(("https://", "http://"))
    # guard: pull-requests-have-a-number-and-an-address
    if not is_number or not is_url or len(str(url)) > MAX_URL_CHARACTERS:
        raise GitServerFailed("The git server answers with something that is no pull request.")
    state = "merged" if facts.get("merged") or facts.get("merged_at") else facts.get("state")
    return PullRequest(
        int(str(number)),
        str(url),
        str(state or "open"),
        head=to_storable(str(inner(facts, "head").get("ref") or "")),
        base=to_storable(str(inner(facts, "base").get("ref") or "")),
        title=to_storable(str(facts.get("title") or "")),
    )


def _not_opened(answer: Answer, head: str, base: str) -> GitServerFailed:
    said = answer.said or "it does not say why"
    return GitServerFailed(
        f"The server opens no pull request of {head} into {base}: {said}. Are both branches pushed, and is there a"
        " commit that only the first one has?"
    )


def _login(facts: dict[str, Any]) -> str:
    return str(inner(facts, "user").get("login") or "").lower()


def _id(facts: dict[str, Any]) -> int:
    found = facts.get("id")
    return found if type(found) is int else 0


def _line(facts: dict[str, Any]) -> int | None:
    """The line of a comment; the server calls it a position."""
    line = facts.get("position") or facts.get("original_position")
    return line if isinstance(line, int) and line > 0 else None
