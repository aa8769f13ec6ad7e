"""Validates a row against its fields and constraints before it is saved, for useful error messages."""

from collections.abc import Collection, Sequence
from contextlib import nullcontext

from django.core.exceptions import NON_FIELD_ERRORS, FieldError, ValidationError
from django.db import DatabaseError, connection, models, transaction
from django.db.models import BooleanField, CheckConstraint, Q, Value
from django.db.models.constraints import BaseConstraint
from django.db.models.functions import Coalesce
from django.db.models.sql import Query
from django.db.models.sql.constants import SINGLE

from paca.common.errors import Invalid
from paca.common.text import has_storable_texts


def check_fields(row: models.Model, *, exclude: Collection[str]) -> None:
    """Raises ``Invalid`` if a field is not valid, besides those in ``exclude``.

    It asks the database nothing, if ``exclude`` names the foreign keys. The caller checks the constraints.
    """
    if errors := _errors_of_fields(row, exclude):
        raise Invalid(fields=errors)


def check(row: models.Model, *, exclude: Collection[str] = ()) -> None:
    """Raises ``Invalid``, with a list of errors for each field, if the row is not valid.

    Fields in ``exclude``, and constraints that name one, are not checked: the caller has checked them.

    The database enforces the same constraints; this check only gives better messages. A change by
    another transaction between the check and the save is refused by the database.
    """
    errors = _errors_of_fields(row, exclude)
    try:
        row.validate_unique(exclude={*errors, *exclude})
    except ValidationError as error:
        errors.update(error.message_dict)
    checks = [each for each in row._meta.constraints if isinstance(each, CheckConstraint)]
    all_hold = _all_hold(row, checks, exclude={*errors, *exclude})
    for constraint in row._meta.constraints:
        if not (all_hold and constraint in checks):
            _check_constraint(row, constraint, errors, exclude)
    if errors:
        raise Invalid(fields=errors)


def _errors_of_fields(row: models.Model, exclude: Collection[str]) -> dict[str, list[str]]:
    # Django looks for such characters in forms only, and PostgreSQL refuses them.
    errors = {
        field.name: ["This has characters that no text can have."]
        for field in row._meta.concrete_fields
        if field.name not in exclude and not has_storable_texts(row.__dict__.get(field.attname))
    }
    try:
        row.full_clean({*exclude, *errors}, validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        errors.update(error.message_dict)
    return errors


def require_order(row: models.Model, first: str, last: str) -> None:
    """Raises ``Invalid`` if the field ``last`` has a date before that of the field ``first``."""
    begin, end = getattr(row, first), getattr(row, last)
    if begin is not None and end is not None and end < begin:
        raise Invalid(fields={last: [f"This is before the {first.replace('_', ' ')}."]})


def _all_hold(
    row: models.Model, checks: Sequence[CheckConstraint], *, exclude: Collection[str]
) -> bool:
    """Whether the row keeps all these constraints, by one query; False when in doubt.

    Django asks the database for each constraint, with all fields in each query: most of the time of a change.
    """
    if not checks:
        return True
    query = Query(None)  # without a table, as in Django's own check
    against = row._get_field_expression_map(meta=row._meta, exclude=exclude)  # type: ignore[attr-defined]
    named = {field for check in checks for field in Q(check.condition).referenced_base_fields}
    for name, value in against.items():
        if name not in named:
            continue
        is_expression = hasattr(value, "resolve_expression")
        query.add_annotation(value if is_expression else Value(value), name, select=False)
    query.add_annotation(Value(1), "_check")
    try:
        for check in checks:
            query.add_q(Q(Coalesce(check.condition, True, output_field=BooleanField())))
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            return query.get_compiler(using=connection.alias).execute_sql(SINGLE) is not None
    except (FieldError, DatabaseError):
        return False


def _check_constraint(
    row: models.Model,
    constraint: BaseConstraint,
    errors: dict[str, list[str]],
    exclude: Collection[str],
) -> None:
    field = _field_of(constraint)
    if field in errors:
        return
    try:
        constraint.validate(type(row), row, exclude={*errors, *exclude})
    except ValidationError as error:
        errors.setdefault(field, []).extend(error.messages)


def _field_of(constraint: BaseConstraint) -> str:
    """The field to which a violated constraint is reported: the last one that the constraint names."""
    fields = getattr(constraint, "fields", ())
    if fields:
        return str(fields[-1])
    names = [
        getattr(source, "name", "")
        for expression in getattr(constraint, "expressions", ())
        for source in getattr(expression, "get_source_expressions", lambda e=expression: [e])()
    ]
    return names[-1] if names else NON_FIELD_ERRORS
