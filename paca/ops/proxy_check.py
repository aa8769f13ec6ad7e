"""Remembers a proxy whose headers the web server ignores, so that ``doctor`` can tell the operator."""

import contextlib
import time

from django.conf import settings

FILE_NAME = "ignored_proxy"
KEPT_SECONDS = 7 * 86_400


def record_ignored_proxy(peer: str) -> None:
    """Store the address of a peer that sent X-Forwarded headers and is not trusted."""
    with contextlib.suppress(OSError):  # a full disk must not fail the request
        (settings.PACA_DATA_DIR / FILE_NAME).write_text(peer)


def ignored_proxy() -> str:
    """The peer whose headers were ignored in the last week, or an empty text."""
    file = settings.PACA_DATA_DIR / FILE_NAME
    try:
        recent = time.time() - file.stat().st_mtime < KEPT_SECONDS
        return file.read_text().strip()[:100] if recent else ""
    except (OSError, ValueError):
        return ""
