"""Values in the form that the database's driver expects, for SQL that is written by hand."""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import connection


def uuid_parameter(value: UUID | str) -> Any:
    """A UUID as a parameter of a statement. Raises ``ValueError`` for text that is no UUID."""
    found = value if isinstance(value, UUID) else UUID(value)
    return found if connection.features.has_native_uuid_field else found.hex


def new_uuid_parameter() -> Any:
    """A new random UUID as a parameter of a statement."""
    return uuid_parameter(uuid4())


def datetime_parameter(value: datetime) -> Any:
    """A time as a parameter of a statement."""
    return connection.ops.adapt_datetimefield_value(value)
