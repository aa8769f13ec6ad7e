"""The base class of the API's views: checks the required permission against the token's scopes."""

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.views import APIView

from paca.accounts import permission_patterns
from paca.accounts.models import ApiToken, User
from paca.common.api.pagination import NewestFirstPagination
from paca.common.errors import NotAllowed


class InsufficientScope(NotAllowed):
    """This token's scopes do not allow this."""

    code = "out_of_scope"


class ApiView(APIView):
    """``required_permission`` names one permission, or one for each method.

    Outside a project, a person needs no role: the permission only limits tokens with scopes.
    """

    required_permission: ClassVar[str | dict[str, str]] = {}
    # Whether PATCH reads the header If-Match. Many objects have no one time to compare, and neither has
    # what has no time of its last change.
    takes_if_match: ClassVar[bool] = True
    # Views paginate with ``NewestFirstPagination.page_response``. Only the OpenAPI schema reads this.
    pagination_class = NewestFirstPagination

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.check_required_permission(request)

    def check_required_permission(self, request: Request) -> None:
        """Raises ``InsufficientScope`` if the token does not cover the required permission."""
        self.require_token_scope(self.permission_for(request))

    def permission_for(self, request: Request) -> str:
        """The permission that the request's method requires; empty if it requires none.

        A method without an entry is open to every signed-in person, but not to tokens with scopes.
        """
        if isinstance(self.required_permission, str):
            return self.required_permission
        method = "GET" if request.method == "HEAD" else str(request.method)
        return self.required_permission.get(method, "")

    def require_token_scope(self, permission: str) -> None:
        """Raises ``InsufficientScope`` if the token's scopes do not cover the permission."""
        if not token_allows(self.token, permission):
            raise InsufficientScope

    @property
    def person(self) -> User:
        """The signed-in person."""
        assert isinstance(self.request.user, User)
        return self.request.user

    @property
    def token(self) -> ApiToken | None:
        """The token of the request; None for a session."""
        return self.request.auth if isinstance(self.request.auth, ApiToken) else None


def token_allows(token: ApiToken | None, permission: str) -> bool:
    """Whether a token's scopes cover the permission; a session or a token without scopes always."""
    return token is None or not token.scopes or permission_patterns.covers(token.scopes, permission)
