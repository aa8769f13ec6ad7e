"""Reads a ``SKILL.md``: front matter with name, description and triggers, then the text of the skill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paca.common.errors import Invalid
from paca.common.text import is_storable

MAX_FRONT_MATTER_CHARACTERS = 8_000
# The scanner of YAML takes seconds for a few thousand brackets in one another.
MAX_DEPTH = 20
FENCE = "---"
HOW = (
    "A SKILL.md begins with a line ---, then name and description, then a line ---, then its text."
)


class BadSkillDocument(Invalid):
    """This is not a SKILL.md that can be read."""

    code = "bad_skill_document"


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """What a ``SKILL.md`` says. Other fields of its front matter are left out."""

    name: str
    description: str
    content: str
    triggers: tuple[str, ...] = ()


def parse(text: str) -> SkillDocument:
    """Read the text of a ``SKILL.md``.

    Raises ``BadSkillDocument`` if it has no front matter, or one that is not plain YAML with texts and
    lists of texts, or no name, description or text.
    """
    front_matter, content = _split(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    fields = _read_fields(front_matter)
    missing = [name for name in ("name", "description") if not _text(fields, name)]
    if missing:
        raise BadSkillDocument(f"The front matter lacks {' and '.join(missing)}. {HOW}")
    if not content.strip():
        raise BadSkillDocument(f"There is no text after the front matter. {HOW}")
    return SkillDocument(
        _text(fields, "name"),
        _text(fields, "description"),
        content.strip() + "\n",
        _triggers(fields),
    )


def _split(text: str) -> tuple[str, str]:
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        raise BadSkillDocument(f"There is no front matter. {HOW}")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        raise BadSkillDocument(f"The front matter has no end. {HOW}")
    front_matter = "\n".join(lines[1:end])
    if len(front_matter) > MAX_FRONT_MATTER_CHARACTERS:
        raise BadSkillDocument(
            f"The front matter has more than {MAX_FRONT_MATTER_CHARACTERS:,} characters."
        )
    return front_matter, "\n".join(lines[end + 1 :])


def _read_fields(front_matter: str) -> dict[str, str | list[str]]:
    """The fields of the front matter that are texts or lists of texts. Nothing gets another type."""
    import yaml  # takes a while, and only uploads and templates need it

    try:
        depth = 0
        for event in yaml.parse(front_matter, Loader=yaml.BaseLoader):
            # guard: skill-front-matter-without-aliases
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise BadSkillDocument("The front matter may not contain anchors and aliases.")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            # guard: skill-front-matter-depth
            if depth > MAX_DEPTH:
                raise BadSkillDocument(f"The front matter is nested more than {MAX_DEPTH} deep.")
        root = yaml.compose(front_matter, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise BadSkillDocument(f"The front matter is not valid YAML{_place(error)}.") from None
    if not isinstance(root, yaml.MappingNode):
        raise BadSkillDocument(f"The front matter has no fields. {HOW}")
    fields: dict[str, str | list[str]] = {}
    for key, value in root.value:
        if not isinstance(key.value, str) or key.value in fields:
            raise BadSkillDocument("The front matter has a field twice, or one without a name.")
        fields[key.value] = _plain_value(value)
    return fields


def _plain_value(node: Any) -> str | list[str]:
    """A text, or the texts of a list. Anything else is empty."""
    each_of = [node] if isinstance(node.value, str) else node.value
    found = [each.value for each in each_of if isinstance(getattr(each, "value", None), str)]
    # An escape of YAML can be what no database and no answer takes.
    # guard: skill-front-matter-is-storable
    if not all(map(is_storable, found)):
        raise BadSkillDocument(
            f"The front matter has half a character or NUL{_line(node.start_mark)}."
        )
    return found[0] if isinstance(node.value, str) else found


def _place(error: Exception) -> str:
    return _line(getattr(error, "problem_mark", None))


def _line(mark: Any) -> str:
    return "" if mark is None else f": see line {mark.line + 2}"


def _text(fields: dict[str, str | list[str]], name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise BadSkillDocument(f"{name} in the front matter must be a text.")
    return value.strip()


def _triggers(fields: dict[str, str | list[str]]) -> tuple[str, ...]:
    """The keywords: a list, or one text with commas."""
    value = fields.get("triggers", [])
    words = value.split(",") if isinstance(value, str) else value
    return tuple(word.strip() for word in words if word.strip())
