"""Repositories that are linked to a project."""

from __future__ import annotations

import re
from typing import Any, Self

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models

from paca.common.models import BaseModel
from paca.projects.models import Project
from paca.repositories.models.addresses import MAX_URL_CHARACTERS, check_clone_url
from paca.repositories.models.connection import GitConnection

MAX_REVIEWERS = 50
ACCOUNT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")
MAX_REPOSITORY_NAME_CHARACTERS, MAX_BRANCH_CHARACTERS, MAX_PROBLEM_CHARACTERS = 60, 255, 1000

# An agent says it in its tools, and its folder in the sandbox has it.
repository_name_validator = RegexValidator(
    r"^[a-z0-9]+(?:[._-][a-z0-9]+)*\Z",
    "Use small letters, digits and single -, _ or . between them.",
)


class ContactState(models.TextChoices):
    """How a repository was found the last time that its server was asked."""

    UNKNOWN = "unknown", "Not tried yet"
    WORKS = "works", "Works"
    FAILS = "fails", "Does not work"


class ReviewPolicy(models.TextChoices):
    """Whose reviews on a pull request its agent works on: people without rights in the repository could mislead it."""

    NOBODY = "nobody", "Nobody's"
    LISTED = "listed", "Those of the listed accounts"
    MEMBERS = (
        "members",
        "Those of people who may write to the repository, and of the listed accounts",
    )


def check_reviewers(names: Any) -> None:
    """Raises ``ValidationError`` if it is not a short list of names of accounts."""
    if not isinstance(names, list) or len(names) > MAX_REVIEWERS:
        raise ValidationError(f"Write a list of at most {MAX_REVIEWERS} names of accounts.")
    if not all(isinstance(each, str) and ACCOUNT_NAME.match(each) for each in names):
        raise ValidationError("Write names of accounts, such as ada; without @.")


class RepositoryQuerySet(models.QuerySet["Repository"]):
    """Queries of repositories."""

    def for_project(self, project: Project) -> Self:
        """The repositories of a project."""
        # guard: repository-of-the-project
        return self.filter(project=project)


class Repository(BaseModel):
    """A git repository that agents of the project may clone. ``connection`` is empty for a public one.

    ``allow_default_branch`` says that agents may push to the default branch; without it they push to others only.
    ``problem`` says why the last contact failed.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="repositories")
    connection = models.ForeignKey(
        GitConnection,
        # Only the deletion of the whole project takes a connection away from its repositories.
        on_delete=models.RESTRICT,
        null=True,
        blank=True,
        related_name="repositories",
    )
    name = models.CharField(
        max_length=MAX_REPOSITORY_NAME_CHARACTERS, validators=[repository_name_validator]
    )
    url = models.CharField(max_length=MAX_URL_CHARACTERS, validators=[check_clone_url])
    default_branch = models.CharField(max_length=MAX_BRANCH_CHARACTERS, blank=True)
    allow_default_branch = models.BooleanField(
        default=False, db_default=False, help_text="Agents may push to the default branch."
    )
    clone_at_start = models.BooleanField(
        default=False,
        db_default=False,
        help_text="It is cloned into each new sandbox of an agent that may use it.",
    )
    reviews = models.CharField(
        max_length=10,
        choices=ReviewPolicy,
        default=ReviewPolicy.MEMBERS,
        db_default=ReviewPolicy.MEMBERS,
        help_text="Whose reviews on a pull request its agent works on.",
    )
    reviewers = models.JSONField(
        default=list,
        blank=True,
        db_default=[],
        validators=[check_reviewers],
        help_text="Accounts of the git server whose reviews count too.",
    )
    encrypted_webhook_secret = models.TextField(blank=True, editable=False)
    state = models.CharField(
        max_length=10, choices=ContactState, default=ContactState.UNKNOWN, editable=False
    )
    problem = models.TextField(blank=True, editable=False)
    contacted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = RepositoryQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"],
                name="repository_name_is_unique_in_its_project",
                violation_error_message="The project has a repository of this name.",
            ),
            models.CheckConstraint(
                name="repository_state_is_known",
                condition=models.Q(state__in=ContactState.values),
            ),
            models.CheckConstraint(
                name="repository_review_policy_is_known",
                condition=models.Q(reviews__in=ReviewPolicy.values),
            ),
        ]

    def __str__(self) -> str:
        return self.name
