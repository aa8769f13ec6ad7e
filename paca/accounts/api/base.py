"""The base of every API view: the rights it asks for, within the scopes of the token."""

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.views import APIView

from paca.accounts import permission_patterns
from paca.accounts.models import ApiToken, User
from paca.common.api.pagination import Pages
from paca.common.errors import NotAllowed


class OutOfScope(NotAllowed):
    """This token's scopes do not allow this."""

    code = "out_of_scope"


class ApiView(APIView):
    """``required_permission`` names one right, or one for each method.

    Outside a project, people need no right of their own; the right says which tokens may come.
    """

    required_permission: ClassVar[str | dict[str, str]] = {}
    # Lists are answered by ``Pages.answer``; this is where the description of the API looks.
    pagination_class = Pages

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.check_rights(request)

    def check_rights(self, request: Request) -> None:
        """Refuse whom the needed right is not given."""
        self.require_scope(self.needed_right(request))

    def needed_right(self, request: Request) -> str:
        """The right that this method needs; empty when none. A method left out of the map is open
        to whoever is signed in, except to tokens with scopes."""
        if isinstance(self.required_permission, str):
            return self.required_permission
        method = "GET" if request.method == "HEAD" else str(request.method)
        return self.required_permission.get(method, "")

    def require_scope(self, right: str) -> None:
        """Refuse a token whose scopes do not hold the right."""
        if not in_scope(self.token, right):
            raise OutOfScope

    @property
    def person(self) -> User:
        """Who asks."""
        assert isinstance(self.request.user, User)
        return self.request.user

    @property
    def token(self) -> ApiToken | None:
        """By which token, if by one."""
        return self.request.auth if isinstance(self.request.auth, ApiToken) else None


def in_scope(token: ApiToken | None, right: str) -> bool:
    """Whether a token may use the right; no token and no scopes set no bounds."""
    return token is None or not token.scopes or permission_patterns.covers(token.scopes, right)
