"""The size limit of request bodies, for pages and the API."""

from paca.common.errors import PacaError

MAX_BODY_BYTES = 5 * 1024 * 1024 // 2


class BodyTooLarge(PacaError):
    """The body is too large: a request holds at most 2.5 MiB."""

    code = "too_large"
    status = 413
