"""Who belongs to a project, human or agent, and what their role allows."""

from typing import Self

from django.db import models
from django.db.models import Q

from paca.accounts.models import AuditEntry, User
from paca.accounts.models.audit import Actor
from paca.common.models import BaseModel
from paca.projects.models.project import Project


class Role(BaseModel):
    """A named list of permission strings, such as ``tasks:write``, ``docs:*`` or ``*``."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="roles")
    name = models.CharField(max_length=50)
    permissions = models.JSONField(default=list)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"],
                name="role_name_is_unique_in_its_project",
                violation_error_message="The project has a role of this name.",
            )
        ]

    def __str__(self) -> str:
        return self.name


class MemberQuerySet(models.QuerySet["Member"]):
    """Members, in the product's words."""

    def live(self) -> Self:
        """Those not removed."""
        return self.filter(deleted_at__isnull=True)

    def with_names(self) -> Self:
        """Ready for ``name``, ``handle`` and permissions without further queries."""
        return self.select_related("user", "agent", "role")


class Member(BaseModel):
    """One human or one agent in one project. Removing hides the row; coming back restores it."""

    class Kind(models.TextChoices):
        """What the member is."""

        HUMAN = "human"
        AGENT = "agent"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="members")
    role = models.ForeignKey(Role, on_delete=models.PROTECT, related_name="members")
    kind = models.CharField(max_length=10, choices=Kind)
    user = models.ForeignKey(
        "accounts.User", on_delete=models.PROTECT, null=True, blank=True, related_name="memberships"
    )
    agent = models.OneToOneField(
        "agents.Agent", on_delete=models.CASCADE, null=True, blank=True, related_name="member"
    )
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = MemberQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.CheckConstraint(
                name="member_is_one_human_or_one_agent",
                condition=Q(kind="human", user__isnull=False, agent__isnull=True)
                | Q(kind="agent", user__isnull=True, agent__isnull=False),
            ),
            models.UniqueConstraint(
                fields=["project", "user"],
                name="user_is_a_member_of_a_project_once",
                violation_error_message="This person is a member already.",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """As pages show it."""
        return self.agent.name if self.agent is not None else self._person.get_full_name()

    @property
    def handle(self) -> str:
        """What others type after "@"."""
        return self.agent.handle if self.agent is not None else self._person.username

    @property
    def actor(self) -> Actor:
        """As the audit trail keeps it."""
        if self.agent is not None:
            return Actor(AuditEntry.Actor.AGENT, self.agent_id, self.agent.handle)
        return self._person.actor

    @property
    def _person(self) -> User:
        # The CHECK above promises it; this says so to readers and to the type checker.
        assert self.user is not None
        return self.user
