"""The branches on which conversations work in repositories, their pushes, and the pull requests that they opened."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from paca.common.models import BaseModel
from paca.conversations.models.conversation import Conversation
from paca.repositories.models import Repository

MAX_BRANCH_CHARACTERS, MAX_URL_CHARACTERS = 255, 1000


class PullRequestState(models.TextChoices):
    """What became of a pull request, as its server told."""

    OPEN = "open", "Open"
    MERGED = "merged", "Merged"
    CLOSED = "closed", "Closed without a merge"


class ConversationBranch(BaseModel):
    """A branch of a repository that a conversation has cloned, pushed, or opened a pull request of.

    The rows follow from events: see ``branch_rows``. Those of helpers are rows of the conversation that started them.
    ``base`` is the commit that was cloned; ``pushed`` is the last
    commit that was pushed. They are empty until then, as are number, address and state of the pull request, and the
    ``base_branch`` that it shall be merged into.
    """

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="branches", db_index=False
    )
    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="branches")
    branch = models.CharField(max_length=MAX_BRANCH_CHARACTERS)
    base_branch = models.CharField(max_length=MAX_BRANCH_CHARACTERS, blank=True, default="")
    base = models.CharField(max_length=64, blank=True, default="")
    pushed = models.CharField(max_length=64, blank=True, default="")
    pr_number = models.PositiveBigIntegerField(null=True, blank=True)
    pr_url = models.CharField(max_length=MAX_URL_CHARACTERS, blank=True, default="")
    state = models.CharField(max_length=10, choices=PullRequestState, blank=True, default="")

    class Meta:
        ordering = ["-updated_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "repository", "branch"],
                name="branch_is_one_row_for_each_conversation",
            ),
            models.CheckConstraint(
                name="pull_request_has_a_number_an_address_and_a_state",
                condition=Q(pr_number=None, pr_url="", state="")
                | (Q(pr_number__isnull=False, state__in=PullRequestState.values) & ~Q(pr_url="")),
            ),
        ]
        indexes = [
            models.Index(
                fields=["repository", "pr_number"],
                condition=Q(pr_number__isnull=False),
                name="branch_by_pull_request",
            )
        ]

    def __str__(self) -> str:
        return self.branch


class PushAttempt(BaseModel):
    """A push of one commit to one branch that a conversation was about to make, stored before it could happen.

    Those of helpers are rows of the conversation that started them.
    """

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="push_attempts", db_index=False
    )
    repository = models.ForeignKey(
        Repository, on_delete=models.CASCADE, related_name="push_attempts"
    )
    branch = models.CharField(max_length=MAX_BRANCH_CHARACTERS)
    commit = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "repository", "branch", "commit"],
                name="push_attempt_is_stored_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.branch} at {self.commit[:12]}"
