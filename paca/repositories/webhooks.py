"""Webhooks of git servers: whether a request comes from the server of a repository, and what it tells."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from paca.agents import encryption
from paca.common.text import to_storable
from paca.repositories.hosts.opening import path_below
from paca.repositories.models import GitServerKind, Repository

logger = logging.getLogger(__name__)

MAX_TEXT_CHARACTERS = 20_000
MAX_ACCOUNT_CHARACTERS = 100
SIGNATURE_HEADERS = {
    GitServerKind.GITHUB: ("X-Hub-Signature-256", "sha256="),
    GitServerKind.GITEA: ("X-Gitea-Signature", ""),
}
# Compared with for a repository that is not there, so that the answer takes the same work.
NO_SECRET = "no secret"  # noqa: S105 - it signs nothing


@dataclass(frozen=True, slots=True)
class PullRequestNews:
    """A pull request was closed, merged or opened again: ``state`` is open, merged or closed."""

    number: int
    state: str
    by: str


@dataclass(frozen=True, slots=True)
class Review:
    """A review, or a comment of one. ``verdict`` is approved, changes_requested or commented.

    ``opener`` is the account that opened the pull request. ``association`` is what GitHub tells of the author.
    ``path`` and ``line`` are those of a comment on a line; ``on_lines``: the words on lines have to be fetched.
    """

    number: int
    author: str
    opener: str
    verdict: str
    text: str
    is_bot: bool = False
    association: str = ""
    url: str = ""
    path: str = ""
    line: int | None = None
    on_lines: bool = False


News = PullRequestNews | Review


def find_sender(repository_id: UUID, headers: Mapping[str, str], body: bytes) -> Repository | None:
    """The repository whose server has sent a request; None if there is no such repository, it has no secret, or the
    signature is not right.
    """
    rows = Repository.objects.select_related("connection", "project")
    repository = rows.filter(pk=repository_id, project__deleted_at=None).first()
    kind = repository.connection.kind if repository and repository.connection else ""
    header, prefix = SIGNATURE_HEADERS.get(
        GitServerKind(kind) if kind else GitServerKind.GIT,
        SIGNATURE_HEADERS[GitServerKind.GITHUB],
    )
    stored = _secret_of(repository)
    secret = stored or NO_SECRET
    expected = prefix + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    given = headers.get(header, "")
    is_right = hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace"))
    # guard: webhook-signature
    if not (is_right and stored and kind in SIGNATURE_HEADERS):
        return None
    return repository


def _secret_of(repository: Repository | None) -> str:
    """The webhook secret; empty if there is none. One that cannot be read must not tell that the repository exists."""
    if repository is None or not repository.encrypted_webhook_secret:
        return ""
    try:
        return encryption.decrypt(repository.encrypted_webhook_secret)
    except encryption.SecretUnreadable:
        logger.exception("webhook secret cannot be read", extra={"repository": str(repository.pk)})
        return ""


def read(repository: Repository, body: bytes) -> News | None:
    """What a request tells of a pull request; None if it is about something else.

    The kind of event is read from the body, because its header is not signed.
    """
    try:
        facts = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(facts, dict) or not _is_about(repository, facts):
        return None
    action = facts.get("action")
    if isinstance(facts.get("review"), dict):
        return _review(facts) if action in ("submitted", "reviewed") else None
    if isinstance(facts.get("comment"), dict):
        return _comment(repository, facts) if action == "created" else None
    if isinstance(facts.get("pull_request"), dict) and action in ("closed", "reopened"):
        return _news(facts)
    return None


def _is_about(repository: Repository, facts: dict[str, Any]) -> bool:
    """Whether the body names this repository: one secret may serve a whole organization."""
    connection = repository.connection
    assert connection is not None
    named = str(_of(facts, "repository", "full_name") or "").lower()
    # guard: webhook-of-another-repository
    return named == path_below(repository.url, connection.base_url).lower()


def _news(facts: dict[str, Any]) -> PullRequestNews | None:
    number = _number(_of(facts, "pull_request", "number"))
    if number is None:
        return None
    state = "open"
    if facts["action"] == "closed":
        state = "merged" if _of(facts, "pull_request", "merged") is True else "closed"
    return PullRequestNews(number, state, _account(facts.get("sender")))


def _review(facts: dict[str, Any]) -> Review | None:
    review = facts["review"]
    number = _number(_of(facts, "pull_request", "number"))
    if number is None:
        return None
    # GitHub writes a state, Gitea a type such as pull_request_review_rejected.
    of_gitea = isinstance(review.get("type"), str)
    said = str(review.get("type") if of_gitea else review.get("state") or "").lower()
    author = facts.get("sender") if of_gitea else review.get("user")
    return Review(
        number,
        author=_account(author),
        opener=_account(_of(facts, "pull_request", "user")),
        verdict=_verdict(said),
        text=_text(review.get("content") if of_gitea else review.get("body")),
        is_bot=_is_bot(author) or _is_bot(facts.get("sender")),
        association=str(review.get("author_association") or ""),
        url=str(review.get("html_url") or _of(facts, "pull_request", "html_url") or ""),
        on_lines=of_gitea,
    )


def _verdict(said: str) -> str:
    if said.endswith(("rejected", "changes_requested")):
        return "changes_requested"
    return "approved" if said.endswith("approved") else "commented"


def _comment(repository: Repository, facts: dict[str, Any]) -> Review | None:
    """A comment on a line; or one on the whole pull request that names the account of the connection."""
    comment = facts["comment"]
    on_line = isinstance(facts.get("pull_request"), dict) and "path" in comment
    subject = facts.get("pull_request") if on_line else facts.get("issue")
    if not isinstance(subject, dict) or not (on_line or subject.get("pull_request")):
        return None
    number, text = _number(subject.get("number")), _text(comment.get("body"))
    if number is None or not (on_line or _names_account(repository, text)):
        return None
    author = comment.get("user")
    line = comment.get("line") or comment.get("original_line")
    return Review(
        number,
        author=_account(author),
        opener=_account(subject.get("user")),
        verdict="commented",
        text=text,
        is_bot=_is_bot(author) or _is_bot(facts.get("sender")),
        association=str(comment.get("author_association") or ""),
        url=str(comment.get("html_url") or ""),
        path=to_storable(str(comment.get("path") or ""))[:1000] if on_line else "",
        line=line if on_line and isinstance(line, int) else None,
    )


def _names_account(repository: Repository, text: str) -> bool:
    account = repository.connection.account if repository.connection else ""
    name = account.removesuffix("[bot]").lower()
    words = text.lower().replace(",", " ").replace(":", " ").split()
    return bool(name) and f"@{name}" in words


def _of(facts: dict[str, Any], name: str, key: str) -> Any:
    found = facts.get(name)
    return found.get(key) if isinstance(found, dict) else None


def _number(value: Any) -> int | None:
    return value if type(value) is int and 0 < value < 2**53 else None


def _text(value: Any) -> str:
    return to_storable(value)[:MAX_TEXT_CHARACTERS].strip() if isinstance(value, str) else ""


def _account(value: Any) -> str:
    found = value.get("login") or value.get("username") if isinstance(value, dict) else ""
    return to_storable(str(found or ""))[:MAX_ACCOUNT_CHARACTERS]


def _is_bot(value: Any) -> bool:
    return isinstance(value, dict) and (
        value.get("type") == "Bot" or str(value.get("login") or "").endswith("[bot]")
    )
