"""What every template knows: the theme of the reader."""

from django.http import HttpRequest

THEMES = frozenset({"light", "dark"})


def theme(request: HttpRequest) -> dict[str, str]:
    """The pinned theme; empty: the system's. From a cookie, so that the first paint is right."""
    wanted = request.COOKIES.get("theme", "")
    return {"theme": wanted if wanted in THEMES else ""}
