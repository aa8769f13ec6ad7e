"""Pages of a list in an order that the client chooses: ``{results, next, previous}`` by cursor.

A cursor names the last row of a page by the value that the list is ordered by, and its number. Pages
stay right while rows come and go, and the thousandth page costs as much as the first.
"""

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from rest_framework.request import Request
from rest_framework.utils.urls import remove_query_param, replace_query_param

from paca.common.errors import Invalid
from paca.common.text import is_storable

DEFAULT_LIMIT, MAX_LIMIT = 50, 200
HIGHEST_INTEGER = 2**31 - 1
BAD_CURSOR = "This cursor is not one of ours; begin again without it."


@dataclass(frozen=True, slots=True)
class Order:
    """An order of a list: a field of the row, and how a cursor's value of it is read back."""

    field: str
    read: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of a page and the addresses of its neighbours."""

    rows: Sequence[Any]
    next: str | None
    previous: str | None


def read_integer(value: Any) -> int:
    """Raises ``ValueError`` if the value of a cursor is no integer that a column holds."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > HIGHEST_INTEGER:
        raise ValueError
    return value


def read_float(value: Any) -> float:
    """Raises ``ValueError`` if the value of a cursor is no number. JSON may say Infinity."""
    number = float(value)
    if not abs(number) < float("inf"):
        raise ValueError
    return number


def read_text(value: Any) -> str:
    """Raises ``ValueError`` if the value of a cursor is no text that a database takes."""
    if not isinstance(value, str) or not is_storable(value):
        raise ValueError
    return value


def read_moment(value: Any) -> datetime:
    """Raises ``ValueError`` if the value of a cursor is no moment with an offset."""
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError
    return moment.astimezone(UTC)


def read_date(value: Any) -> date:
    """Raises ``ValueError`` if the value of a cursor is no date."""
    return date.fromisoformat(value)


def read_id(value: Any) -> UUID:
    """Raises ``ValueError`` if the value of a cursor is no id."""
    return UUID(read_text(value))


BY_NUMBER = Order("number", read_integer)
BY_ID = Order("id", read_id)


def page(
    queryset: QuerySet[Any],
    request: Request,
    orders: Mapping[str, Order],
    *,
    default: str,
    load: Callable[[list[Any]], Mapping[Any, Any]],
    then: Order = BY_NUMBER,
) -> Page:
    """The page that the query parameters ``ordering``, ``cursor`` and ``limit`` ask for.

    ``ordering`` is a name of ``orders``; with a minus before it the order is turned round. Rows
    of one value come in the order ``then``, whose field is different for each. ``load`` gives the rows of the page by their
    ids. Only the ids are sorted: the database would sort whole rows far more slowly. Raises ``Invalid``
    if a parameter is malformed.
    """
    ordering = request.query_params.get("ordering") or default
    order = orders.get(ordering.removeprefix("-"))
    if order is None:
        names = ", ".join(orders)
        raise Invalid(fields={"ordering": [f"Use one of {names}, or one with a minus before it."]})
    limit = read_limit(request)
    position = _decode(request.query_params.get("cursor"), ordering, order, then)
    goes_back = position is not None and position.goes_back
    descending = ordering.startswith("-") is not goes_back
    if position is not None:
        queryset = queryset.filter(_beyond(order.field, then.field, position, descending))
    sign = "-" if descending else ""
    sorted_rows = queryset.order_by(f"{sign}{order.field}", f"{sign}{then.field}")
    fetched = list(sorted_rows.values_list("pk", order.field, then.field)[: limit + 1])
    keys = fetched[:limit][:: -1 if goes_back else 1]
    found = load([pk for pk, _, _ in keys])
    rows = [found[pk] for pk, _, _ in keys if pk in found]
    ends = _encode_ends(ordering, keys)
    return _with_neighbours(request, rows, ends, position, has_more=len(fetched) > limit)


def read_limit(request: Request) -> int:
    """The ``limit`` that the request asks for, within its bounds."""
    try:
        wanted = int(request.query_params.get("limit", ""))
    except ValueError:
        return DEFAULT_LIMIT
    return min(wanted, MAX_LIMIT) if wanted > 0 else DEFAULT_LIMIT


def address_after(url: str, ordering: str, value: Any, number: int) -> str:
    """The address of the page that begins after the row with this value and number.

    ``url`` is the address of the list.
    """
    return _address(url, _encode(ordering, value, number, goes_back=False))


@dataclass(frozen=True, slots=True)
class _Position:
    goes_back: bool
    value: Any
    number: Any


def _beyond(field: str, then: str, position: _Position, descending: bool) -> Q:
    comparison = "lt" if descending else "gt"
    return Q(**{f"{field}__{comparison}": position.value}) | Q(
        **{field: position.value, f"{then}__{comparison}": position.number}
    )


def _encode_ends(ordering: str, keys: Sequence[tuple[Any, Any, Any]]) -> tuple[str, str]:
    """The cursors that lead before the first row of a page and after its last one."""
    if not keys:
        return "", ""
    (_, first, first_number), (_, last, last_number) = keys[0], keys[-1]
    return (
        _encode(ordering, first, first_number, goes_back=True),
        _encode(ordering, last, last_number, goes_back=False),
    )


def _with_neighbours(
    request: Request,
    rows: list[Any],
    ends: tuple[str, str],
    position: _Position | None,
    *,
    has_more: bool,
) -> Page:
    url = request.build_absolute_uri()
    before, after = ends
    if not after:
        return Page(rows, None, None if position is None else remove_query_param(url, "cursor"))
    goes_back = position is not None and position.goes_back
    has_next = has_more or goes_back
    has_previous = has_more if goes_back else position is not None
    return Page(
        rows,
        _address(url, after) if has_next else None,
        _address(url, before) if has_previous else None,
    )


def _address(url: str, cursor: str) -> str:
    return str(replace_query_param(url, "cursor", cursor))


def _encode(ordering: str, value: Any, number: Any, *, goes_back: bool) -> str:
    if isinstance(value, date | datetime):
        value = value.isoformat()
    text = json.dumps([ordering, goes_back, value, number], default=str)  # ids are no JSON
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str | None, ordering: str, order: Order, then: Order) -> _Position | None:
    if not cursor:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        named, goes_back, value, number = json.loads(base64.urlsafe_b64decode(padded))
        if named != ordering or not isinstance(goes_back, bool):
            raise ValueError
        return _Position(goes_back, order.read(value), then.read(number))
    except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error):
        raise Invalid(fields={"cursor": [BAD_CURSOR]}) from None
