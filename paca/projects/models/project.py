"""Projects, where people and agents work together."""

from typing import Self

from django.core.validators import MaxLengthValidator
from django.db import models

from paca.accounts.models import User
from paca.common.models import BaseModel
from paca.projects.models.workspace import Workspace


class ProjectQuerySet(models.QuerySet["Project"]):
    """Queries of projects."""

    def live(self) -> Self:
        """Projects that are not deleted."""
        return self.filter(deleted_at__isnull=True)

    def for_person(self, user: User) -> Self:
        """Projects that the person is a member of."""
        return self.live().filter(members__user=user, members__deleted_at__isnull=True)


class Project(BaseModel):
    """Belongs to one workspace. A deleted project is hidden; its rows stay."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="projects")
    name = models.CharField(max_length=100)
    description = models.TextField(blank=True, validators=[MaxLengthValidator(10_000)])
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "name"],
                condition=models.Q(deleted_at__isnull=True),
                name="project_name_is_unique_in_its_workspace",
                violation_error_message="The workspace has a project of this name.",
            )
        ]

    def __str__(self) -> str:
        return self.name
