"""What Paca asks a git server by its API, whichever server it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as its server has it. ``state`` is open, merged or closed; ``url`` is its page."""

    number: int
    url: str
    state: str
    head: str
    base: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class ReviewComment:
    """A comment on one line of a pull request."""

    path: str
    line: int | None
    text: str


class GitHost(Protocol):
    """One repository on a git server. Every method raises the errors of ``hosts.errors``, and blocks."""

    def default_branch(self) -> str:
        """The default branch of the repository."""
        ...

    def account(self) -> str:
        """The name of the account of the credentials; empty without any."""
        ...

    def find_pull_request(self, head: str) -> PullRequest | None:
        """The open pull request of the branch ``head`` of the same repository."""
        ...

    def create_pull_request(self, head: str, base: str, title: str, body: str) -> PullRequest:
        """Open a pull request of the branch ``head`` into ``base``, or give the one that is open already."""
        ...

    def may_write(self, account: str) -> bool:
        """Whether an account may write to the repository; not, if the server does not tell."""
        ...

    def last_review_comments(self, number: int, account: str) -> list[ReviewComment]:
        """The comments on lines in the newest review of an account, at most 50."""
        ...
