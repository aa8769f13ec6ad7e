"""Whose reviews an agent works on. A review is a text from outside, and its author could mean to mislead the agent."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from paca.common.errors import PacaError
from paca.repositories.hosts import GitHost, ReviewComment, open_host
from paca.repositories.models import GitServerKind, Repository, ReviewPolicy
from paca.repositories.webhooks import Review

logger = logging.getLogger(__name__)

# Git servers give up on a webhook after 5 to 10 seconds.
SECONDS = 4.0
# A storm of comments occupies no more slots of requests than these with its questions to a git server.
_SLOTS = threading.BoundedSemaphore(4)
T = TypeVar("T")
# What GitHub says of people who may have rights in the repository; of others it is not asked any further.
ASSOCIATIONS = ("OWNER", "MEMBER", "COLLABORATOR")


def may_give_work(repository: Repository, review: Review) -> bool:
    """Whether the agent shall work on a review: never on that of a bot or of the account that it uses itself, and
    else as the repository's setting says. It asks the server of the repository, outside transactions.
    """
    author = review.author.lower()
    connection = repository.connection
    own = {review.opener.lower(), connection.account.lower() if connection else ""}
    # guard: bots-give-no-work
    if not author or review.is_bot or author in own:
        return False
    if repository.reviews == ReviewPolicy.NOBODY:
        return False
    if author in (each.lower() for each in repository.reviewers):
        return True
    # guard: strangers-give-no-work
    if repository.reviews != ReviewPolicy.MEMBERS:
        return False
    is_github = connection is not None and connection.kind == GitServerKind.GITHUB
    # guard: association-tells-strangers
    if is_github and review.association not in ASSOCIATIONS:
        return False

    def ask(host: GitHost) -> bool:
        return host.may_write(review.author)

    return _ask(repository, ask, unknown=False)


def comments_on_lines(repository: Repository, review: Review) -> list[ReviewComment]:
    """The words of a review on single lines, if its webhook did not bring them. None if the server does not tell."""

    def ask(host: GitHost) -> list[ReviewComment]:
        return host.last_review_comments(review.number, review.author)

    return _ask(repository, ask, unknown=[]) if review.on_lines else []


def _ask(repository: Repository, ask: Callable[[GitHost], T], *, unknown: T) -> T:
    """What the server of the repository answers; ``unknown`` if it does not, or others ask too many questions."""
    # guard: few-questions-about-reviewers-at-once
    if not _SLOTS.acquire(timeout=SECONDS):
        logger.warning("git server not asked about a review", extra={"code": "busy"})
        return unknown
    try:
        return ask(open_host(repository, seconds=SECONDS))
    except PacaError as error:
        logger.warning(
            "git server does not tell about a review",
            extra={"repository": str(repository.pk), "code": error.code},
        )
        return unknown
    finally:
        _SLOTS.release()
