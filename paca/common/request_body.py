"""The size limits of request bodies, for pages and the API."""

import re

from django.conf import settings

from paca.common.errors import PacaError

MIB = 1024 * 1024
MAX_BODY_BYTES = 5 * MIB // 2
# The paths that take a file as their body, each with the setting that limits it in MiB.
UPLOADS = (
    (re.compile(r"/api/v1/projects/[^/]+/tasks/[0-9]+/attachments/"), "ATTACHMENT_MIB"),
    (re.compile(r"/api/v1/projects/[^/]+/conversations/[^/]+/files/"), "WORKSPACE_UPLOAD_MIB"),
)


class BodyTooLarge(PacaError):
    """The body is too large: a request holds at most 2.5 MiB."""

    code = "too_large"
    status = 413


def max_body_bytes(path: str) -> int:
    """How many bytes a request to this path may have. The path has no query."""
    for pattern, setting in UPLOADS:
        if pattern.fullmatch(path):
            return max(MAX_BODY_BYTES, int(getattr(settings, setting)) * MIB)
    return MAX_BODY_BYTES


def too_large(max_bytes: int) -> BodyTooLarge:
    """The error that names the limit."""
    limit = f"{max_bytes / MIB:.1f}".removesuffix(".0")
    return BodyTooLarge(
        f"The body is too large: a request to this address holds at most {limit} MiB."
    )
