"""What a page may load and run: strict everywhere, with two named exceptions."""

from collections.abc import Callable
from typing import Any

from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse

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
    }
}
# The admin's theme is driven by Alpine, which evaluates the attributes of its templates, and sets
# its colours in a style element. Both come from our own templates; no inline script is allowed.
ADMIN = {"script-src": [UNSAFE_EVAL], "style-src": [UNSAFE_INLINE]}
# The API's pages style themselves inline.
DOCS = {"style-src": [UNSAFE_INLINE]}

for_docs = csp_update(DOCS)


class AdminPolicy:
    """Widens the policy below the admin's address only. Stands inside ``CSPMiddleware``."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path_info.startswith("/admin/"):
            response._csp_update = ADMIN  # type: ignore[attr-defined] # where django-csp looks
        return response
