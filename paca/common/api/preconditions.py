"""``If-Match``: a change is refused when somebody else has changed the row meanwhile."""

from django.utils.dateparse import parse_datetime
from rest_framework.request import Request

from paca.common.errors import Invalid, PacaError
from paca.common.models import BaseModel


class ChangedMeanwhile(PacaError):
    """Somebody has changed this meanwhile; load it again and repeat your change."""

    code = "changed_meanwhile"
    status = 412


def require_unchanged(request: Request, row: BaseModel) -> None:
    """Honour ``If-Match: <updated_at>``: raise ``ChangedMeanwhile`` unless it is still that one.

    Call it in the transaction of the change, on a row read in that transaction.
    """
    given = request.headers.get("If-Match", "").strip()
    if given in {"", "*"}:
        return
    try:
        expected = parse_datetime(given.removeprefix("W/").strip('"'))
    except ValueError:
        expected = None
    if expected is None:
        raise Invalid("If-Match must be the updated_at of what you have loaded.")
    if expected != row.updated_at:
        raise ChangedMeanwhile
