"""Queries of the ORM that are built once: for those on the way to an answer that costs more than to run them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Expression, Field, QuerySet
from django.db.models.sql import Query, UpdateQuery
from django.db.models.sql.compiler import SQLCompiler


class Parameter(Expression):
    """Stands in a query for a value that comes when it is run."""

    def __init__(self, name: str, field: Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> Any:
        return "%s", (self,)


@dataclass(frozen=True, slots=True)
class _Built:
    """A statement of one kind of database; ``reads`` turns its rows into Python's values."""

    sql: str
    parameters: tuple[Any, ...]
    reads: Callable[[Iterable[Any]], Iterable[Any]]

    def filled(self, values: dict[str, Any]) -> list[Any]:
        """The parameters, as the database's driver wants them."""
        return [_filled(parameter, values) for parameter in self.parameters]


class _Prepared:
    def __init__(self, query: Callable[[], Query]) -> None:
        self._query = query
        self._of_vendor: dict[str, _Built] = {}

    def _built(self) -> _Built:
        if connection.vendor not in self._of_vendor:
            compiler = self._query().get_compiler(connection=connection)
            sql, parameters = _with_texts(*compiler.as_sql())
            self._of_vendor[connection.vendor] = _Built(sql, parameters, _reader(compiler))
        return self._of_vendor[connection.vendor]


class Select(_Prepared):
    """A ``values_list``, made by a function when it is first run."""

    def __init__(self, made: Callable[[], QuerySet[Any, Any]]) -> None:
        super().__init__(lambda: made().query)

    def rows(self, **values: Any) -> list[tuple[Any, ...]]:
        """Run it with these values in its slots."""
        built = self._built()
        with connection.cursor() as cursor:
            cursor.execute(built.sql, built.filled(values))
            return [tuple(row) for row in built.reads(cursor.fetchall())]


class Update(_Prepared):
    """What is written to the rows of a query, of one table."""

    def __init__(self, made: Callable[[], QuerySet[Any, Any]], **written: Any) -> None:
        def query() -> UpdateQuery:
            update = made().query.chain(UpdateQuery)
            assert isinstance(update, UpdateQuery)
            update.add_update_values(written)
            return update

        super().__init__(query)

    def run(self, **values: Any) -> int:
        """How many rows were written, with these values in the slots."""
        built = self._built()
        with connection.cursor() as cursor:
            cursor.execute(built.sql, built.filled(values))
            return int(cursor.rowcount)


def _with_texts(sql: str, parameters: Iterable[Any]) -> tuple[str, tuple[Any, ...]]:
    """The statement with its constant texts in place, and the parameters that are left.

    SQLite uses an index of some rows only if it reads in the statement which rows are wanted.
    """
    given, left = iter(parameters), list[Any]()

    def put(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%%"
        parameter = next(given)
        if isinstance(parameter, str):
            text = str(parameter).replace("'", "''").replace("%", "%%")
            return f"'{text}'"
        left.append(parameter)
        return "%s"

    return re.sub("%%|%s", put, sql), tuple(left)


def _filled(parameter: Any, values: dict[str, Any]) -> Any:
    if not isinstance(parameter, Parameter):
        return parameter
    return parameter.output_field.get_db_prep_value(values[parameter.name], connection)


def _reader(compiler: SQLCompiler) -> Callable[[Iterable[Any]], Iterable[Any]]:
    converters = compiler.get_converters([column[0] for column in compiler.select or ()])
    if not converters:
        return lambda rows: rows
    return lambda rows: compiler.apply_converters(rows, converters)
