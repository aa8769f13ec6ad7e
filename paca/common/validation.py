"""Checks a row against its fields and its laws before it is saved, for a message a person can use."""

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import models
from django.db.models.constraints import BaseConstraint

from paca.common.errors import Invalid


def check(row: models.Model) -> None:
    """Raise ``Invalid`` with a list of complaints for each field.

    The database holds the same laws; this only says them nicely. A race that slips between the
    check and the save is refused there.
    """
    complaints: dict[str, list[str]] = {}
    try:
        row.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        complaints.update(error.message_dict)
    try:
        row.validate_unique(exclude=set(complaints))
    except ValidationError as error:
        complaints.update(error.message_dict)
    for constraint in row._meta.constraints:
        _check_constraint(row, constraint, complaints)
    if complaints:
        raise Invalid(fields=complaints)


def _check_constraint(
    row: models.Model, constraint: BaseConstraint, complaints: dict[str, list[str]]
) -> None:
    field = _subject(constraint)
    if field in complaints:
        return
    try:
        constraint.validate(type(row), row, exclude=set(complaints))
    except ValidationError as error:
        complaints.setdefault(field, []).extend(error.messages)


def _subject(constraint: BaseConstraint) -> str:
    """The field a broken constraint is about: of a unique set, the last one named."""
    fields = getattr(constraint, "fields", ())
    if fields:
        return str(fields[-1])
    names = [
        getattr(source, "name", "")
        for expression in getattr(constraint, "expressions", ())
        for source in getattr(expression, "get_source_expressions", lambda e=expression: [e])()
    ]
    return names[-1] if names else NON_FIELD_ERRORS
