"""Names of the IANA time zone database."""

import functools
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError

from paca.common.errors import ConfigurationError


@functools.cache
def names() -> frozenset[str]:
    """The time zones that this machine knows. Reading them takes a while, so they are read once."""
    return frozenset(available_timezones())


def check(name: str) -> None:
    """Raises ``ValidationError`` if there is no time zone of this name."""
    if name not in names():
        raise ValidationError("There is no such time zone. Write one such as Europe/Berlin.")


def configured(name: str, *, variable: str) -> str:
    """The name, if there is such a time zone. Raises ``ConfigurationError`` if the ``variable`` has another text."""
    if name != "UTC" and name not in names():
        raise ConfigurationError(f"{variable} is {name!r}; it must be one such as Europe/Berlin.")
    return name
