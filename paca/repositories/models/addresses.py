"""Addresses of git servers and repositories as they are stored."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ValidationError

MAX_URL_CHARACTERS = 500
DEFAULT_PORTS = {"https": 443, "http": 80}
# Git, shells and pages read these in other ways than an address is read.
FORBIDDEN = frozenset("\\\"'`<>^{|} ")


def check_server_url(address: str) -> None:
    """Raises ``ValidationError`` if it is no address of a server, or has a password, a query or a fragment in it."""
    _checked(address, example="https://git.example.org")


def check_clone_url(address: str) -> None:
    """Raises ``ValidationError`` if it is no address of a repository by HTTPS, or has more than a path in it."""
    url = _checked(address, example="https://git.example.org/team/app.git")
    parts = url.path.strip("/").split("/")
    if "" in parts or "." in parts or ".." in parts or "%" in url.path:
        raise ValidationError(
            "Write the address of one repository, such as https://git.example.org/team/app.git."
        )


def origin_of(address: str) -> tuple[str, str, int]:
    """Scheme, host and port of a checked address."""
    url = urlsplit(address)
    return url.scheme, (url.hostname or "").lower(), url.port or DEFAULT_PORTS[url.scheme]


def is_below(address: str, base: str) -> bool:
    """Whether an address is on the server of ``base``, and below its path."""
    path = urlsplit(base).path.rstrip("/") + "/"
    return origin_of(address) == origin_of(base) and urlsplit(address).path.startswith(path)


def _checked(address: str, *, example: str) -> SplitResult:
    try:
        url = urlsplit(address)
        valid = url.scheme in DEFAULT_PORTS and bool(url.hostname) and url.port != 0
    except ValueError:
        valid = False
    if (
        not valid
        or not address.isascii()
        or any(c in FORBIDDEN or not c.isprintable() for c in address)
    ):
        raise ValidationError(f"Write an address such as {example}.")
    if url.username is not None or url.password is not None:
        raise ValidationError("Store the password or token as a connection, not in the address.")
    if "?" in address or "#" in address:
        raise ValidationError("An address has no part behind ? or #.")
    return url
