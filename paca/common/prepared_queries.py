"""ORM queries whose SQL is built once: for frequent queries, which are slower to build than to run."""

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
    """A placeholder in a query for a value that is given when the query runs."""

    def __init__(self, name: str, field: Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> Any:
        return "%s", (self,)


@dataclass(frozen=True, slots=True)
class _Statement:
    """The SQL for one kind of database. ``convert_rows`` converts the driver's values to Python's."""

    sql: str
    parameters: tuple[Any, ...]
    convert_rows: Callable[[Iterable[Any]], Iterable[Any]]

    def bind(self, values: dict[str, Any]) -> list[Any]:
        """The parameters with these values, converted for the driver."""
        return [_bind(parameter, values) for parameter in self.parameters]


class _PreparedQuery:
    def __init__(self, query: Callable[[], Query]) -> None:
        self._query = query
        self._statements: dict[str, _Statement] = {}

    def _statement(self) -> _Statement:
        if connection.vendor not in self._statements:
            compiler = self._query().get_compiler(connection=connection)
            sql, parameters = _inline_texts(*compiler.as_sql())
            self._statements[connection.vendor] = _Statement(
                sql, parameters, _row_converter(compiler)
            )
        return self._statements[connection.vendor]


class Select(_PreparedQuery):
    """A prepared ``values_list``. The function makes the queryset when the query first runs."""

    def __init__(self, make_queryset: Callable[[], QuerySet[Any, Any]]) -> None:
        super().__init__(lambda: make_queryset().query)

    def rows(self, **values: Any) -> list[tuple[Any, ...]]:
        """Run the query with these values for its parameters and give the rows."""
        statement = self._statement()
        with connection.cursor() as cursor:
            cursor.execute(statement.sql, statement.bind(values))
            return [tuple(row) for row in statement.convert_rows(cursor.fetchall())]


class Update(_PreparedQuery):
    """A prepared update of the rows of a queryset on one table. ``values`` may hold parameters too."""

    def __init__(self, make_queryset: Callable[[], QuerySet[Any, Any]], **values: Any) -> None:
        def query() -> UpdateQuery:
            update = make_queryset().query.chain(UpdateQuery)
            assert isinstance(update, UpdateQuery)
            update.add_update_values(values)
            return update

        super().__init__(query)

    def run(self, **values: Any) -> int:
        """Run the update with these values for its parameters and give the number of rows written."""
        statement = self._statement()
        with connection.cursor() as cursor:
            cursor.execute(statement.sql, statement.bind(values))
            return int(cursor.rowcount)


def _inline_texts(sql: str, parameters: Iterable[Any]) -> tuple[str, tuple[Any, ...]]:
    """Put constant texts into the SQL. Gives the SQL and the remaining parameters.

    SQLite uses a partial index only if the SQL itself contains the constants of its condition.
    """
    unused, remaining = iter(parameters), list[Any]()

    def replace(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%%"
        parameter = next(unused)
        if isinstance(parameter, str):
            text = str(parameter).replace("'", "''").replace("%", "%%")
            return f"'{text}'"
        remaining.append(parameter)
        return "%s"

    return re.sub("%%|%s", replace, sql), tuple(remaining)


def _bind(parameter: Any, values: dict[str, Any]) -> Any:
    if not isinstance(parameter, Parameter):
        return parameter
    return parameter.output_field.get_db_prep_value(values[parameter.name], connection)


def _row_converter(compiler: SQLCompiler) -> Callable[[Iterable[Any]], Iterable[Any]]:
    converters = compiler.get_converters([column[0] for column in compiler.select or ()])
    if not converters:
        return lambda rows: rows
    return lambda rows: compiler.apply_converters(rows, converters)
