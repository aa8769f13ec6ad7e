"""Every address of the web server with the methods it answers, read from the resolver."""

import re
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, get_resolver

# The admin has its own test.
ELSEWHERE = ("admin/",)
UNASKED = {"options", "head", "trace"}


def spelled(route: str) -> str:
    """``api/v1/projects/<uuid:project>/`` -> ``/api/v1/projects/{project}/``."""
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)


def everything() -> set[str]:
    """``METHOD /path/`` of everything there is to ask for."""
    return {
        f"{method} {spelled(route)}"
        for route, pattern in _walk(get_resolver().url_patterns)
        if not route.startswith(ELSEWHERE)
        for method in _methods(pattern)
    }


def parameters(path: str) -> list[str]:
    """The names of the ids in a path."""
    return re.findall(r"{(\w+)}", path)


def _methods(pattern: URLPattern) -> list[str]:
    view: Any = getattr(pattern.callback, "view_class", None) or getattr(
        pattern.callback, "cls", None
    )
    if view is None:
        return ["GET"]
    names = {name for name in view.http_method_names if hasattr(view, name)}
    if hasattr(view, "form_valid"):
        names.discard("put")  # of Django's form views, another word for post
    return sorted(name.upper() for name in names - UNASKED)


def _walk(patterns: Any, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield route, pattern
        else:
            yield from _walk(pattern.url_patterns, route)
