"""The API described: a schema for programs and a page for people."""

from typing import Any

from django.utils.decorators import method_decorator
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from paca.common import csp


class Schema(SpectacularAPIView):
    """The OpenAPI description of every address."""

    authentication_classes = ()
    permission_classes = ()


@method_decorator(csp.for_docs, name="dispatch")
class Docs(SpectacularSwaggerSplitView):
    """The description as a page, from files of our own server."""

    authentication_classes = ()
    permission_classes = ()


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the description names our tokens."""

    target_class = "paca.accounts.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "paca_..."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the description names the session cookie."""

    target_class = "paca.accounts.api.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
