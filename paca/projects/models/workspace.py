"""Workspaces, the tenants above projects, and their people."""

from typing import Self

from django.db import models

from paca.accounts.models import User
from paca.common.models import BaseModel


class WorkspaceQuerySet(models.QuerySet["Workspace"]):
    """Queries of workspaces."""

    def for_person(self, user: User) -> Self:
        """Workspaces that the person belongs to."""
        return self.filter(members__user=user)


class Workspace(BaseModel):
    """Holds projects, and the people who can be added to them."""

    name = models.CharField(max_length=100)

    objects = WorkspaceQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name


class WorkspaceMember(BaseModel):
    """A person in a workspace. Owners may rename it; every member may make projects."""

    class Role(models.TextChoices):
        """The role of a person in the workspace. It gives no permission in projects."""

        OWNER = "owner"
        MEMBER = "member"

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey("accounts.User", on_delete=models.CASCADE, related_name="workspaces")
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "user"], name="user_is_a_member_of_a_workspace_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.workspace}"
