"""Invitations to a workspace by a link."""

from django.db import models
from django.db.models import Q

from paca.accounts.models import User
from paca.common.models import BaseModel
from paca.projects.models.member import Role
from paca.projects.models.project import Project
from paca.projects.models.workspace import Workspace


class Invitation(BaseModel):
    """A link that lets one person join the workspace, and a project in a role if one is named.

    Only the SHA-256 of the link's secret is stored. It is used once, and not after ``expires_at``.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="invitations")
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, blank=True, related_name="invitations"
    )
    role = models.ForeignKey(
        Role, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    secret_sha256 = models.CharField(max_length=64, unique=True, editable=False)
    note = models.CharField(max_length=200, blank=True)
    by = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    expires_at = models.DateTimeField()
    accepted_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    accepted_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                name="invitation_names_a_project_with_a_role",
                condition=Q(project__isnull=True, role__isnull=True)
                | Q(project__isnull=False, role__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"invitation to {self.workspace}"
