"""Whose reviews an agent works on. A review is a text from outside, and its author could mean to mislead the agent."""

from __future__ import annotations

import logging

from paca.common.errors import PacaError
from paca.repositories.hosts import ReviewComment, open_host
from paca.repositories.models import GitServerKind, Repository, ReviewPolicy
from paca.repositories.webhooks import Review

logger = logging.getLogger(__name__)

# Git servers give up on a webhook after 5 to 10 seconds.
SECONDS = 4.0
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
    try:
        return open_host(repository, seconds=SECONDS).may_write(review.author)
    except PacaError as error:
        logger.warning(
            "rights of a reviewer are not known",
            extra={"repository": str(repository.pk), "code": error.code},
        )
        return False


def comments_on_lines(repository: Repository, review: Review) -> list[ReviewComment]:
    """The words of a review on single lines, if its webhook did not bring them. None if the server does not tell."""
    if not review.on_lines:
        return []
    try:
        return open_host(repository, seconds=SECONDS).last_review_comments(
            review.number, review.author
        )
    except PacaError as error:
        logger.warning(
            "comments of a review are not known",
            extra={"repository": str(repository.pk), "code": error.code},
        )
        return []
