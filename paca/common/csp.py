"""What a page may load and run: strict everywhere, with two named exceptions."""

from collections.abc import Callable
from typing import Any

from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.decorators import csp_replace, csp_update
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

STRICT: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        # Text becomes markup only through lit-html's templates and DOMPurify.
        "trusted-types": ["lit-html", "dompurify"],
        "require-trusted-types-for": ["'script'"],
    }
}
# Pages of others know nothing of trusted types.
WITHOUT_TRUSTED_TYPES = {"trusted-types": None, "require-trusted-types-for": None}
# The admin's theme is driven by Alpine, which evaluates the attributes of its templates, and sets
# its colours in a style element. Both come from our own templates; no inline script is allowed.
ADMIN = {"script-src": [UNSAFE_EVAL], "style-src": [UNSAFE_INLINE]}
# The API's pages style themselves inline.
DOCS = {"style-src": [UNSAFE_INLINE]}


def for_docs(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """The policy of the API's pages."""
    found: Callable[..., HttpResponseBase] = csp_replace(WITHOUT_TRUSTED_TYPES)(
        csp_update(DOCS)(view)
    )
    return found


class AdminPolicy:
    """Widens the policy below the admin's address only. Stands inside ``CSPMiddleware``."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path_info.startswith("/admin/"):
            # Where django-csp looks for what a view has asked for.
            response._csp_update = ADMIN  # type: ignore[attr-defined]
            response._csp_replace = WITHOUT_TRUSTED_TYPES  # type: ignore[attr-defined]
        return response
