"""Values in the form that the database's driver expects, for SQL that is written by hand."""

import functools
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import connection


def uuid_parameter(value: UUID | str) -> Any:
    """A UUID as a parameter of a statement. Raises ``ValueError`` for text that is no UUID."""
    found = value if isinstance(value, UUID) else UUID(value)
    return found if _has_native_uuid() else found.hex


@functools.cache
def _has_native_uuid() -> bool:
    """Whether the database of this process has a type for UUIDs."""
    return connection.features.has_native_uuid_field


def new_uuid_parameter() -> Any:
    """A new random UUID as a parameter of a statement."""
    return uuid_parameter(uuid4())


# A transaction writes its time into many rows.
@functools.lru_cache(maxsize=64)
def datetime_parameter(value: datetime) -> Any:
    """A time as a parameter of a statement."""
    return connection.ops.adapt_datetimefield_value(value)
