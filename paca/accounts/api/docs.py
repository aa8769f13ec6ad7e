"""The API described: a schema for programs and a page for people."""

from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_GET
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularSwaggerSplitView

from paca.common import csp


@cache
def description() -> bytes:
    """The OpenAPI description of every address. Made once: it takes half a second."""
    generator: Any = SchemaGenerator()  # type: ignore[no-untyped-call]
    rendered: bytes = OpenApiJsonRenderer().render(generator.get_schema(public=True))
    return rendered


@require_GET
def schema(request: HttpRequest) -> HttpResponse:
    """The description, as JSON."""
    return HttpResponse(description(), content_type="application/vnd.oai.openapi+json")


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
