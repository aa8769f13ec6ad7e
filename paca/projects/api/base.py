"""The base of every view inside a project: the asking member, and what they may do there."""

from typing import Any, ClassVar
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts import permission_patterns
from paca.accounts.api.base import ApiView, OutOfScope, in_scope
from paca.common.errors import NotAllowed
from paca.projects import permissions, selectors
from paca.projects.models import Member, Project, Role


class CannotGiveRole(NotAllowed):
    """You cannot give or take a role that may do more than you."""

    code = "role_exceeds_yours"


class ProjectView(ApiView):
    """Answers 404 to whoever is no member of the project, 403 to members without the right.

    ``required_permission`` must name a right for each method that the view has.
    """

    required_permission: ClassVar[str | dict[str, str]]
    project: Project
    member: Member

    def dispatch(self, request: Any, *args: Any, project: UUID, **kwargs: Any) -> Any:
        self._project_id = project
        return super().dispatch(request, *args, **kwargs)

    def check_rights(self, request: Request) -> None:
        self.member = selectors.member_of(self.person, self._project_id)
        self.project = self.member.project
        if request.method == "OPTIONS" or not hasattr(self, str(request.method).lower()):
            return
        self.require(self.needed_right(request))

    def require(self, right: str) -> None:
        """Refuse unless the member's role and the token's scopes both hold the right."""
        if not permissions.allows(self.member, right):
            raise NotAllowed(f"Your role does not allow this; it needs {right}.", right=right)
        if not in_scope(self.token, right):
            raise OutOfScope

    def allowed(self, right: str) -> bool:
        """Whether the asking member may do this, by this token."""
        return permissions.allows(self.member, right) and in_scope(self.token, right)

    def require_may_grant(self, role: Role) -> None:
        """Refuse to hand around a role that may do more than the asking member."""
        self.require_may_grant_all(role.permissions)

    def require_may_grant_all(self, patterns: list[str]) -> None:
        """The same for a list of permissions."""
        held = [name for name in permission_patterns.NAMES if self.allowed(name)]
        if not permissions.may_grant(held, patterns):
            raise CannotGiveRole

    def no_content(self) -> Response:
        """The answer to a DELETE."""
        return Response(status=204)
