"""The context processor that gives every template the chosen theme."""

from django.http import HttpRequest

THEMES = frozenset({"light", "dark"})


def theme(request: HttpRequest) -> dict[str, str]:
    """The theme from its cookie; empty for that of the system. A cookie makes the first paint right."""
    wanted = request.COOKIES.get("theme", "")
    return {"theme": wanted if wanted in THEMES else ""}
