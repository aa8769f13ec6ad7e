"""Reads environment variables with their type, default and unit, and keeps a list of them."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from paca.common import database_urls, redis_urls
from paca.common.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Variable:
    """One documented setting, for ``docs/configuration.md`` and the test that walks the list."""

    name: str
    default: str
    meaning: str
    aliases: tuple[str, ...] = ()


VARIABLES: dict[str, Variable] = {}


def _read(name: str, default: Any, meaning: str, aliases: tuple[str, ...]) -> str | None:
    VARIABLES[name] = Variable(name, "" if default is None else str(default), meaning, aliases)
    for variable in (name, *aliases):
        if os.environ.get(variable, "") != "":
            return os.environ[variable]
    return None


def text(name: str, default: str = "", *, meaning: str, aliases: tuple[str, ...] = ()) -> str:
    """A text."""
    found = _read(name, default, meaning, aliases)
    return default if found is None else found


def secret(name: str, *, at_least: int, meaning: str) -> str:
    """A secret, or an empty text. Raises ``ConfigurationError`` if it is shorter than ``at_least``."""
    found = text(name, meaning=meaning)
    if found and len(found) < at_least:
        raise ConfigurationError(
            f"{name} has {len(found)} characters; it must have at least {at_least}.",
            next_step="openssl rand -hex 32",
        )
    return found


def comma_separated(name: str, default: str = "", *, meaning: str) -> list[str]:
    """A list of texts, separated by commas."""
    items = text(name, default, meaning=meaning).split(",")
    return [item.strip() for item in items if item.strip()]


def origins(name: str, *, meaning: str) -> list[str]:
    """A list of scheme, host and perhaps port. Raises ``ConfigurationError`` if one is something else."""
    found = comma_separated(name, meaning=meaning)
    for origin in found:
        if not re.fullmatch(r"https?://[^/\s?#@]+", origin):
            raise ConfigurationError(
                f"{name} contains {origin!r}; each entry must be like https://paca.example.org:8443."
            )
    return [origin.lower() for origin in found]


def http_address(name: str, *, meaning: str) -> str:
    """An address that begins with http:// or https://, without a slash at its end; or an empty text.

    Raises ``ConfigurationError`` for another.
    """
    found = text(name, meaning=meaning).rstrip("/")
    if found and not re.fullmatch(r"https?://[^\s?#]+", found):
        raise ConfigurationError(
            f"{name} is {found!r}; it must be an address such as http://localhost:4318."
        )
    return found


def header_pairs(name: str, *, meaning: str) -> dict[str, str]:
    """Headers as ``name=value`` with commas between them. The values may be encoded as in a URL.

    Raises ``ConfigurationError``, which shows no value, for anything else.
    """
    pairs = [entry.partition("=") for entry in comma_separated(name, meaning=meaning)]
    found = {key.strip().lower(): unquote(value.strip()) for key, _, value in pairs}
    for key, value in found.items():
        is_sendable = value.isascii() and value.isprintable()
        if not (re.fullmatch(r"[a-z0-9_-]+", key) and value and is_sendable):
            raise ConfigurationError(
                f"{name} has an entry that is no header; each must be like api-key=secret."
            )
    return found


def choice(name: str, default: str, *, among: tuple[str, ...], meaning: str) -> str:
    """One of a few texts. Raises ``ConfigurationError`` for another."""
    found = text(name, default, meaning=f"{meaning} One of {', '.join(among)}.")
    if found not in among:
        raise ConfigurationError(f"{name} is {found!r}; it must be one of {', '.join(among)}.")
    return found


def boolean(name: str, default: bool = False, *, meaning: str) -> bool:
    """True (1, true, yes, on) or false (0, false, no, off). Raises ``ConfigurationError`` for another text."""
    found = _read(name, default, meaning, ())
    if found is None:
        return default
    if found.lower() in {"1", "true", "yes", "on"}:
        return True
    if found.lower() in {"0", "false", "no", "off"}:
        return False
    raise ConfigurationError(f"{name} is {found!r}; it must be true or false.")


def number(
    name: str,
    default: float,
    *,
    meaning: str,
    at_least: float | None = None,
    at_most: float | None = None,
) -> float:
    """A number within bounds. Raises ``ConfigurationError`` outside of them."""
    found = _read(name, default, meaning, ())
    if found is None:
        return default
    try:
        value = float(found)
    except ValueError:
        raise ConfigurationError(f"{name} is {found!r}; it must be a number.") from None
    if at_least is not None and not value >= at_least:
        raise ConfigurationError(f"{name} is {found}; it must be at least {at_least:g}.")
    if at_most is not None and not value <= at_most:
        raise ConfigurationError(f"{name} is {found}; it must be at most {at_most:g}.")
    return value


def integer(
    name: str, default: int, *, meaning: str, at_least: int = 0, at_most: int = 1 << 31
) -> int:
    """A whole number within bounds. Raises ``ConfigurationError`` outside of them."""
    value = number(name, default, meaning=meaning, at_least=at_least, at_most=at_most)
    if value != int(value):
        raise ConfigurationError(f"{name} is {value:g}; it must be a whole number.")
    return int(value)


def seconds(name: str, default: float, *, meaning: str, at_least: float = 0.1) -> float:
    """A duration in seconds. Raises ``ConfigurationError`` if it is no number or too small or large."""
    return number(name, default, meaning=meaning, at_least=at_least, at_most=86_400 * 365)


def database(name: str, default: Path, *, meaning: str) -> dict[str, Any]:
    """An entry of ``DATABASES``; ``default`` is an SQLite file. Raises ``ConfigurationError``."""
    found = _read(name, "", meaning, ())
    if found is None:
        return database_urls.sqlite(default)
    return database_urls.parse(found, name=name)


def redis(name: str, *, meaning: str, aliases: tuple[str, ...] = ()) -> str:
    """The URL of a Redis or Valkey; empty if there is none. Raises ``ConfigurationError``."""
    found = _read(name, "", meaning, aliases)
    return redis_urls.parse(found, name=name) if found else ""
