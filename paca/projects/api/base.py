"""The base class of views inside a project: finds the member and checks their permissions."""

from typing import Any, ClassVar
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts import permission_patterns
from paca.accounts.api.base import ApiView, InsufficientScope, token_allows
from paca.common.errors import NotAllowed
from paca.projects import permissions, selectors
from paca.projects.models import Member, Project, Role


class CannotGrantRole(NotAllowed):
    """You cannot grant or take away a role with more permissions than yours."""

    code = "role_exceeds_yours"


class ProjectView(ApiView):
    """Answers 404 to everybody but members of the project, and 403 to members without permission.

    ``required_permission`` must name a permission for each method that the view has.
    """

    required_permission: ClassVar[str | dict[str, str]]
    project: Project
    member: Member

    def dispatch(self, request: Any, *args: Any, project: UUID, **kwargs: Any) -> Any:
        self._project_id = project
        return super().dispatch(request, *args, **kwargs)

    def check_required_permission(self, request: Request) -> None:
        """Set ``member`` and ``project``, and check the permission of the method.

        Raises ``NotFound`` if the person is no member, ``NotAllowed`` if their role does not cover
        the permission, and ``InsufficientScope`` if their token does not.
        """
        self.member = selectors.get_membership(self.person, self._project_id)
        self.project = self.member.project
        if request.method == "OPTIONS" or not hasattr(self, str(request.method).lower()):
            return
        self.require_permission(self.permission_for(request))

    def require_permission(self, permission: str) -> None:
        """Raises ``NotAllowed`` if the role does not cover the permission, and ``InsufficientScope`` if the
        token's scopes do not.
        """
        if not permissions.allows(self.member, permission):
            raise NotAllowed(
                f"Your role does not allow this; it needs {permission}.", permission=permission
            )
        if not token_allows(self.token, permission):
            raise InsufficientScope

    def has_permission(self, permission: str) -> bool:
        """Whether the role and the token's scopes both cover the permission."""
        return permissions.allows(self.member, permission) and token_allows(self.token, permission)

    def require_may_grant(self, role: Role) -> None:
        """Raises ``CannotGrantRole`` if the role has permissions that the member does not have.

        Stored patterns that are unknown to this version of Paca count too.
        """
        self._require_may_grant(role.permissions)

    def require_may_grant_all(self, patterns: list[str]) -> None:
        """Raises ``CannotGrantRole`` if the patterns cover a permission that the member does not have.

        Unknown patterns are left to the service. It refuses those that the role does not have yet.
        """
        self._require_may_grant(
            [pattern for pattern in patterns if pattern in permission_patterns.PATTERNS]
        )

    def _require_may_grant(self, patterns: list[str]) -> None:
        if not permissions.may_grant(self.has_permission, patterns):
            raise CannotGrantRole

    def no_content(self) -> Response:
        """The answer to a successful DELETE."""
        return Response(status=204)
