"""Tags of agents: normalised words, stored in one column that both databases can search."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

MAX_TAGS, MAX_TAG_CHARACTERS = 20, 30
SEPARATOR = "|"
_TAG = re.compile(r"[\w.+-]+\Z")


def normalize_tags(given: Iterable[str]) -> list[str]:
    """The tags in small letters with ``-`` for spaces and without ``#``, each once, in order of the alphabet."""
    found = set()
    for each in given:
        words = unicodedata.normalize("NFKC", each).casefold().strip().removeprefix("#").split()
        found.add("-".join(words))
    return sorted(found - {""})


def check_tags(tags: Any) -> None:
    """Raises ``ValidationError`` if this is no list of at most 20 short normalised tags."""
    if not isinstance(tags, list) or not all(isinstance(each, str) for each in tags):
        raise ValidationError("Give a list of tags.")
    if len(tags) > MAX_TAGS:
        raise ValidationError(f"An agent has at most {MAX_TAGS} tags.")
    for each in tags:
        if len(each) > MAX_TAG_CHARACTERS:
            raise ValidationError(f"A tag has at most {MAX_TAG_CHARACTERS} characters.")
        if not _TAG.match(each):
            raise ValidationError("A tag has letters, digits, and any of . + - _ only.")


def has_tag(tag: str) -> models.Q:
    """The condition that an agent has this tag. The separators around it keep ``go`` from finding ``golang``."""
    [normal] = normalize_tags([tag]) or [""]
    if SEPARATOR in normal:  # no tag has one, and two neighbours would match
        return models.Q(pk__in=[])
    return models.Q(tags__contains=f"{SEPARATOR}{normal}{SEPARATOR}")


class TagsField(models.TextField):  # type: ignore[type-arg] # the stubs know no other type of a text column
    """A list of tags. The column holds ``|api|urgent|``, which ``LIKE`` searches on every database."""

    def from_db_value(self, value: str | None, *_: Any) -> list[str]:
        return [each for each in (value or "").split(SEPARATOR) if each]

    def to_python(self, value: Any) -> Any:
        """A list as it is; a text of a form, with commas or spaces between the tags, as a list."""
        if isinstance(value, str):
            return normalize_tags(value.replace(",", " ").split())
        return value

    def get_prep_value(self, value: Any) -> str:
        if isinstance(value, list):
            return f"{SEPARATOR}{SEPARATOR.join(value)}{SEPARATOR}" if value else ""
        return str(value or "")

    def value_to_string(self, obj: models.Model) -> str:
        return self.get_prep_value(self.value_from_object(obj))

    def formfield(self, **options: Any) -> Any:
        """A line of text; ``to_python`` reads it."""
        return super().formfield(**{"widget": None, **options})
