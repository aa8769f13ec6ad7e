"""Whether the page that a browser names as the origin of a request belongs to this installation."""

from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

DEFAULT_PORTS = {"http": "80", "https": "443"}


def is_ours(origin: str, *, host: str) -> bool:
    """Whether a page of this origin belongs to this installation, for a request to ``host``.

    The port counts: cookies ignore ports, but another program on this machine is another site.
    """
    if _is_trusted(origin.lower()):
        return True
    try:
        parts = urlsplit(origin.lower())
    except ValueError:
        return False
    if parts.scheme not in DEFAULT_PORTS or not parts.netloc or parts.path or "@" in parts.netloc:
        return False
    domain, port = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return False
    origin_domain, origin_port = split_domain_port(parts.netloc)
    default = DEFAULT_PORTS[parts.scheme]
    return (origin_domain, origin_port or default) == (domain, port or default)


def _is_trusted(origin: str) -> bool:
    """Whether ``CSRF_TRUSTED_ORIGINS`` names the origin, as in Django's own check of forms."""
    return any(
        origin == trusted or ("*" in trusted and fnmatchcase(origin, trusted))
        for trusted in settings.CSRF_TRUSTED_ORIGINS
    )
