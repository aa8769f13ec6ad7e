"""The addresses of the API docs. Their library takes 5 MB: the first request of them loads it."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET


@require_GET
def schema(request: HttpRequest) -> HttpResponse:
    """The OpenAPI schema, as JSON."""
    from paca.accounts.api.docs import openapi_schema

    return HttpResponse(openapi_schema(), content_type="application/vnd.oai.openapi+json")


def page(request: HttpRequest) -> HttpResponseBase:
    """Swagger UI on the schema."""
    from paca.accounts.api.docs import docs_page

    return docs_page(request)
