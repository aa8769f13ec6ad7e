"""Types of arguments that several tools on the project take."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from paca.common.text import is_storable


def _storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("text without NUL characters and lone surrogates")
    return text


def _at_most(limit: int) -> Callable[[str], str]:
    """Checks the length. As a constraint it would stand in the schema, and models never come near it."""

    def check(text: str) -> str:
        if len(text) > limit:
            raise ValueError(f"text of at most {limit} characters")
        return text

    return check


def _day(text: str) -> str:
    if text and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        raise ValueError("a day as YYYY-MM-DD, or empty text")
    return text


def _number_as_text(value: Any) -> Any:
    """Models write the number of a task with and without quotes."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _as_list(value: Any) -> Any:
    """Models write a single name without a list, or several with commas."""
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


StorableText = Annotated[str, AfterValidator(_storable)]
NonEmptyText = Annotated[str, StringConstraints(min_length=1), AfterValidator(_storable)]
Name = Annotated[str, AfterValidator(_at_most(200)), AfterValidator(_storable)]
# The empty text takes a value away, so that null and a missing field both mean "as it is".
Date = Annotated[str, AfterValidator(_day)]
# -1 takes the number away, as the empty text does; models send that too.
NO_POINTS = -1
Points = Annotated[
    int,
    Field(ge=NO_POINTS, le=1000),
    BeforeValidator(lambda value: NO_POINTS if value == "" else value),
]
TaskKeyText = Annotated[
    str,
    BeforeValidator(_number_as_text),
    AfterValidator(_at_most(30)),
    AfterValidator(_storable),
]
TaskKey = Annotated[TaskKeyText, Field(description="The key, such as PACA-4, or the number.")]
Names = Annotated[list[Name], BeforeValidator(_as_list)]
Keys = Annotated[list[TaskKeyText], BeforeValidator(_as_list)]
