"""The address that git servers call when something happens to a pull request."""

from __future__ import annotations

import hashlib
import logging
from uuid import UUID

from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from paca.conversations.services import pull_requests
from paca.repositories import reviewers, webhooks
from paca.repositories.models import Repository
from paca.repositories.webhooks import PullRequestNews, Review

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 1 << 20


@csrf_exempt
@require_POST
@never_cache
def receive(request: HttpRequest, repository_id: UUID) -> JsonResponse:
    """Take a signed request of a git server. Its answer does not say what became of it, and is the same for a wrong
    signature, a repository without a secret, and an id that does not exist.
    """
    if len(request.body) > MAX_BODY_BYTES:
        return _refused(413, "too_large", "A webhook has at most 1 MiB.")
    if request.content_type != "application/json":
        return _refused(415, "unsupported_media_type", "Set the content type application/json.")
    repository = webhooks.find_sender(repository_id, request.headers, request.body)
    if repository is None:
        return _refused(404, "not_found", "There is no webhook at this address with this secret.")
    _take(repository, request.body)
    return JsonResponse({"status": "received"}, status=202)


def _take(repository: Repository, body: bytes) -> None:
    """Do what a request asks. Requests to the git server are made before the transaction of the effect."""
    news = webhooks.read(repository, body)
    digest = hashlib.sha256(body).hexdigest()
    if isinstance(news, PullRequestNews):
        pull_requests.tell_end(repository, news, digest=digest)
    elif isinstance(news, Review):
        _take_review(repository, news, digest)


def _take_review(repository: Repository, review: Review, digest: str) -> None:
    # An approval asks for nothing, and a review without words has its words in other requests.
    if review.verdict == "approved" or pull_requests.find(repository, review.number) is None:
        return
    # guard: reviews-of-people-with-rights
    if not reviewers.may_give_work(repository, review):
        logger.info("review gives no work", extra={"repository": str(repository.pk)})
        return
    lines = reviewers.comments_on_lines(repository, review)
    if review.text or lines or review.verdict == "changes_requested":
        pull_requests.give_review(repository, review, lines, digest=digest)


def _refused(status: int, code: str, detail: str) -> JsonResponse:
    return JsonResponse({"code": code, "detail": detail}, status=status)
