"""All routes of the web server with their methods, read from Django's URL resolver."""

import re
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, get_resolver

# tests/security/test_admin.py covers the admin.
EXCLUDED = ("admin/",)
UNTESTED_METHODS = {"options", "head", "trace"}


def path_template(route: str) -> str:
    """``api/v1/projects/<uuid:project>/`` -> ``/api/v1/projects/{project}/``."""
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)


def all_routes() -> set[str]:
    """Every route as ``METHOD /path/``."""
    return {
        f"{method} {path_template(route)}"
        for route, pattern in _walk(get_resolver().url_patterns)
        if not route.startswith(EXCLUDED)
        for method in _methods(pattern)
    }


def all_views() -> list[Any]:
    """The view class of every route that has one."""
    views = (_view_class(pattern) for _, pattern in _walk(get_resolver().url_patterns))
    return [view for view in views if view is not None]


def parameters(path: str) -> list[str]:
    """The names of the parameters in a path."""
    return re.findall(r"{(\w+)}", path)


def _methods(pattern: URLPattern) -> list[str]:
    view = _view_class(pattern)
    if view is None:
        return ["GET"]
    names = {name for name in view.http_method_names if hasattr(view, name)}
    if hasattr(view, "form_valid"):
        names.discard("put")  # Django's form views answer it as a POST
    return sorted(name.upper() for name in names - UNTESTED_METHODS)


def _view_class(pattern: URLPattern) -> Any:
    return getattr(pattern.callback, "view_class", None) or getattr(pattern.callback, "cls", None)


def _walk(patterns: Any, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield route, pattern
        else:
            yield from _walk(pattern.url_patterns, route)
