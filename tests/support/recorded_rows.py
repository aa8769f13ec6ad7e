"""Rows that many tests begin with: services make them once in each process, later tests insert them again.

Services check each row by queries and read back what they wrote, which takes far longer than to insert the rows.
Each repetition has new ids and new times: no cache and no limit knows them from an earlier test.
"""

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast
from uuid import UUID, uuid4

from django.conf import UserSettingsHolder, settings
from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from psycopg.types.json import Jsonb

Made = TypeVar("Made")
Statement = tuple[str, tuple[Any, ...]]
ID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
WITHOUT_EFFECT = {"SELECT", "SAVEPOINT", "RELEASE"}
_recordings: dict[tuple[str, object], "Recording"] = {}


def made_once(key: object, make: Callable[[], Made], *, varying: str = "") -> Made:
    """What ``make`` returns: a dataclass of rows that it inserts. ``key`` says which it makes.

    ``varying`` is the value of a field that differs each time, such as an address with a port.

    A test with settings of its own gets rows that the services make under these settings. So does every test
    whose rows are not only inserted.
    """
    if isinstance(settings._wrapped, UserSettingsHolder):
        return make()
    recording = _recordings.get((connection.vendor, key))
    if recording is not None:
        return cast(Made, recording.repeat(varying))
    statements: list[Statement] = []
    others: list[str] = []

    def keep(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        verb = sql.partition(" ")[0]
        # A row whose number the database gives would have another number in each repetition.
        if verb == "INSERT" and not many and '"id"' in sql.partition(" VALUES ")[0]:
            statements.append((sql, tuple(params)))
        elif verb not in WITHOUT_EFFECT:
            others.append(sql)
        return execute(sql, params, many, context)

    with transaction.atomic(), connection.execute_wrapper(keep):
        made = make()
    if not others:
        _recordings[connection.vendor, key] = Recording(statements, made, varying)
    return made


class Recording:
    """Statements that insert rows, and the object that was made of these rows."""

    def __init__(self, statements: list[Statement], made: Any, varying: str) -> None:
        self._statements = statements
        self._made = copy.deepcopy(made)
        params = [param for _, params in statements for param in params]
        assert not varying or varying in params, "it is not stored as it was given"
        self._varying = varying
        self._ids = {UUID(str(each)) for each in params if ID.fullmatch(str(each))}
        times = {str(each) for each in params if TIME.match(str(each))}
        self._times = sorted(filter(None, map(_time, times)))

    def repeat(self, varying: str) -> Any:
        """Insert the rows with new ids, and with times just before now in the same order."""
        new: dict[Any, Any] = {self._varying: varying}
        for old in self._ids:
            id = uuid4()
            new |= {old: id, old.hex: id.hex, str(old): str(id)}
        begin = timezone.now() - timedelta(microseconds=len(self._times))
        for number, time in enumerate(self._times):
            moment = begin + timedelta(microseconds=number)
            new |= {time: moment, _text(time): _text(moment)}
        with transaction.atomic(), connection.cursor() as cursor:
            for sql, params in self._statements:
                cursor.execute(sql, [_renewed(param, new) for param in params])
        made = copy.deepcopy(self._made)
        for row in _rows(made):
            for name, value in vars(row).items():
                vars(row)[name] = _renewed(value, new)
        return made


def _time(text: str) -> datetime | None:
    time = parse_datetime(text)
    return time.replace(tzinfo=time.tzinfo or UTC) if time else None


def _text(time: datetime) -> str:
    """As Django writes it to SQLite."""
    return str(connection.ops.adapt_datetimefield_value(time))


def _renewed(value: Any, new: dict[Any, Any]) -> Any:
    if isinstance(value, (UUID, datetime)):
        return new.get(value, value)
    if isinstance(value, str):
        return new.get(value) or ID.sub(lambda found: new.get(found[0], found[0]), value)
    if isinstance(value, Jsonb) and ID.search(text := json.dumps(value.obj)):
        return Jsonb(json.loads(_renewed(text, new)), value.dumps)
    return value


def _rows(made: Any) -> Iterator[Model]:
    """Every row of the dataclass, and the rows that these know."""
    found: dict[int, Model] = {}
    rest = [getattr(made, field.name) for field in fields(made)]
    while rest:
        row = rest.pop()
        if isinstance(row, Model) and id(row) not in found:
            found[id(row)] = row
            rest += row._state.fields_cache.values()
    yield from found.values()
