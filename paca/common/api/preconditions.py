"""``If-Match``: refuses a change to a row that has been changed since the client loaded it."""

from collections.abc import Callable
from typing import Any

from django.utils.dateparse import parse_datetime
from rest_framework.request import Request

from paca.common.errors import Invalid, PacaError
from paca.common.models import BaseModel


class ChangedMeanwhile(PacaError):
    """Somebody has changed this meanwhile; load it again and repeat your change."""

    code = "changed_meanwhile"
    status = 412

    def __init__(self, detail: str = "", *, present: Any = None) -> None:
        """``present`` is the object as it is now; the answer has it, so that a page can show both texts."""
        super().__init__(detail)
        self.present = present


def require_unchanged(
    request: Request, row: BaseModel, *, present: Callable[[], Any] | None = None
) -> None:
    """Check the header ``If-Match: <updated_at>``, if there is one, against the row.

    Call it in the transaction of the change, with a row that was read in that transaction. Raises
    ``ChangedMeanwhile`` if the row was changed, with what ``present`` gives: the object as it is now; and ``Invalid`` if the header is malformed.
    """
    header = request.headers.get("If-Match", "").strip()
    if header in {"", "*"}:
        return
    try:
        expected = parse_datetime(header.removeprefix("W/").strip('"'))
    except ValueError:
        expected = None
    if expected is None:
        raise Invalid("If-Match must be the updated_at of what you have loaded.")
    if expected != row.updated_at:
        raise ChangedMeanwhile(present=None if present is None else present())
