"""The Content Security Policy: strict on every page, with exceptions for the admin and the API docs."""

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
# The pages of third-party apps do not use trusted types.
WITHOUT_TRUSTED_TYPES = {"trusted-types": None, "require-trusted-types-for": None}
# The admin's theme uses Alpine, which evaluates attributes of the templates, and sets its colours in
# a style element. Both come from our own templates; inline scripts are not allowed.
ADMIN = {"script-src": [UNSAFE_EVAL], "style-src": [UNSAFE_INLINE]}
# The pages of the API docs use inline styles.
DOCS = {"style-src": [UNSAFE_INLINE]}


def for_docs(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Decorate a view of the API docs with their policy."""
    decorated: Callable[..., HttpResponseBase] = csp_replace(WITHOUT_TRUSTED_TYPES)(
        csp_update(DOCS)(view)
    )
    return decorated


class AdminPolicy:
    """Middleware that widens the policy for URLs below ``/admin/``. It comes after ``CSPMiddleware``."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path_info.startswith("/admin/"):
            # django-csp reads the wishes of a view from these attributes.
            response._csp_update = ADMIN  # type: ignore[attr-defined]
            response._csp_replace = WITHOUT_TRUSTED_TYPES  # type: ignore[attr-defined]
        return response
