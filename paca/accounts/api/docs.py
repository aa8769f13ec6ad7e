"""The OpenAPI schema of the API, and the page that shows it."""

from functools import cache
from typing import Any

from django.conf import settings
from django.utils.decorators import method_decorator
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularSwaggerSplitView

from paca.common import csp


@cache
def openapi_schema() -> bytes:
    """The OpenAPI schema as JSON. Cached, because generating it takes half a second."""
    generator: Any = SchemaGenerator()  # type: ignore[no-untyped-call]
    rendered: bytes = OpenApiJsonRenderer().render(generator.get_schema(public=True))
    return rendered


@method_decorator(csp.for_docs, name="dispatch")
class ApiDocsPage(SpectacularSwaggerSplitView):
    """Swagger UI, served from our own static files."""

    authentication_classes = ()
    permission_classes = ()


docs_page = ApiDocsPage.as_view(url_name="api:schema")


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The API token in the OpenAPI schema."""

    target_class = "paca.accounts.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "paca_..."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The session cookie in the OpenAPI schema."""

    target_class = "paca.accounts.api.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}
