"""Keys of model providers that a person, a project or the server lends to agents without a key of their own."""

from typing import Self
from uuid import UUID

from django.db import models
from django.db.models import Q

from paca.accounts.models import User
from paca.agents.models.agent_fields import check_base_url
from paca.common.models import BaseModel
from paca.projects.models import Project


class KeySource(models.TextChoices):
    """Whose key a model is asked with, the first that there is."""

    AGENT = "agent"
    USER = "user"
    PROJECT = "project"
    SERVER = "server"


class ModelKeyQuerySet(models.QuerySet["ModelKey"]):
    """Queries of keys by their owner."""

    def of_user(self, user: User) -> Self:
        """The person's own keys."""
        return self.filter(user=user)

    def of_project(self, project: Project) -> Self:
        """The keys of the project."""
        return self.filter(project=project)

    def of_server(self) -> Self:
        """The keys that all projects may use."""
        return self.filter(user=None, project=None)

    def for_turn(self, provider: str, project_id: UUID, user_id: UUID | None) -> Self:
        """The keys of a provider that a turn in this project may use, which this person began."""
        shared = Q(project=project_id) | Q(project=None, user=None)
        own = Q(user=user_id) if user_id else Q(pk=None)
        return self.filter(own | shared, provider=provider)


class ModelKey(BaseModel):
    """A key of one provider at one address. It belongs to a person, to a project, or to the server if to neither."""

    user = models.ForeignKey(
        User, on_delete=models.CASCADE, null=True, blank=True, related_name="model_keys"
    )
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, blank=True, related_name="model_keys"
    )
    provider = models.CharField(max_length=50)
    base_url = models.CharField(max_length=500, blank=True, validators=[check_base_url])
    encrypted_key = models.TextField(editable=False)
    key_last4 = models.CharField(max_length=4, blank=True, editable=False)

    objects = ModelKeyQuerySet.as_manager()

    class Meta:
        ordering = ["provider", "base_url", "id"]
        constraints = [
            models.CheckConstraint(
                name="model_key_has_one_owner", condition=Q(user=None) | Q(project=None)
            ),
            models.UniqueConstraint(
                fields=["user", "provider", "base_url"],
                condition=Q(user__isnull=False),
                name="person_has_one_model_key_of_an_address",
            ),
            models.UniqueConstraint(
                fields=["project", "provider", "base_url"],
                condition=Q(project__isnull=False),
                name="project_has_one_model_key_of_an_address",
            ),
            models.UniqueConstraint(
                fields=["provider", "base_url"],
                condition=Q(user__isnull=True, project__isnull=True),
                name="server_has_one_model_key_of_an_address",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} of {self.source}"

    @property
    def source(self) -> KeySource:
        """Whose key it is."""
        if self.user_id is not None:
            return KeySource.USER
        return KeySource.PROJECT if self.project_id is not None else KeySource.SERVER
