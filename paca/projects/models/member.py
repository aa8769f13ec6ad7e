"""Members of a project, people and agents, and their roles."""

from typing import Self
from uuid import UUID

from django.db import models
from django.db.models import Q

from paca.accounts.models import AuditEntry, User
from paca.accounts.models.audit import Actor
from paca.common.models import BaseModel
from paca.projects.models.project import Project


class Role(BaseModel):
    """A named list of permission patterns, such as ``agents:write``, ``members:*`` or ``*``."""

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
    """Queries of members."""

    def live(self) -> Self:
        """Members that are not removed."""
        return self.filter(deleted_at__isnull=True)

    def with_names(self) -> Self:
        """Loads what ``name``, ``handle`` and the permissions need, so that they cost no queries."""
        return self.select_related("user", "agent", "role")


class Member(BaseModel):
    """A person or an agent in a project. A removed member keeps its row and can come back.

    ``acting_in`` is no column: an agent's tools set it to the id of the conversation in which the agent
    acts. A service gets the member as ``by`` and so knows where a write, a mention or an assignment
    comes from. None for people.
    """

    acting_in: UUID | None = None

    class Kind(models.TextChoices):
        """Kinds of members."""

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
        """The name that pages show."""
        return self.agent.name if self.agent is not None else self._person.get_full_name()

    @property
    def handle(self) -> str:
        """The name that others type after "@"."""
        return self.agent.handle if self.agent is not None else self._person.username

    @property
    def actor(self) -> Actor:
        """The member as the actor of an audit entry."""
        if self.agent is not None:
            return Actor(AuditEntry.ActorKind.AGENT, self.agent_id, self.agent.handle)
        return self._person.actor

    @property
    def _person(self) -> User:
        # The constraint member_is_one_human_or_one_agent guarantees it; mypy cannot know.
        assert self.user is not None
        return self.user
