"""Skills as a model sees them: the index, an opened skill, and which skills a message calls for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape

SKILLS_FOLDER = "/skills"
# A message that mentions everything must not fill the model's window.
MAX_LOADED_BY_MESSAGE = 3
INDEX_INTRODUCTION = """\
Your skills. Each is a text on how to do one kind of work. Before you start such work, open the skill with \
read_skill, unless its text stands in the conversation already."""
ALWAYS_ON_INTRODUCTION = "Your standing instructions for this work:"


@dataclass(frozen=True, slots=True)
class SkillSummary:
    """An enabled skill in the prompt. ``content`` is its text if it is in every prompt, else empty.

    ``has_files``: it has files for the sandbox.
    """

    name: str
    description: str
    content: str = ""
    has_files: bool = False


@dataclass(frozen=True, slots=True)
class SkillMatch:
    """A skill that a message calls for. ``keyword`` is the word in it; empty if it names the skill."""

    name: str
    keyword: str = ""


def format_always_on(skills: Iterable[SkillSummary]) -> str:
    """The texts of the skills that are in every prompt; empty if there are none."""
    texts = [format_skill(skill.name, skill.content) for skill in skills if skill.content]
    return "\n\n".join([ALWAYS_ON_INTRODUCTION, *texts]) if texts else ""


def format_index(skills: Iterable[SkillSummary]) -> str:
    """Name and description of each skill that is opened when it is needed; empty if there are none."""
    lines = [
        f"- {skill.name}: {' '.join(skill.description.split())}"
        for skill in skills
        if not skill.content
    ]
    return "\n".join([INDEX_INTRODUCTION, *lines]) if lines else ""


def format_skill(name: str, content: str, files: Sequence[str] = ()) -> str:
    """The text of a skill between marks, with the paths of its files in the sandbox."""
    text = f'<skill name="{escape(name)}">\n{content.strip()}\n</skill>'
    if not files:
        return text
    paths = "\n".join(f"- {SKILLS_FOLDER}/{name}/{path}" for path in files)
    return (
        f"{text}\nFiles of the skill, read-only. Read a text with read_skill and its file, or use them in"
        f" commands:\n{paths}"
    )


def format_loaded(name: str, content: str, keyword: str, files: Sequence[str]) -> str:
    """The text of a skill that a message called for, with the reason why it stands here."""
    why = f'contains "{keyword}"' if keyword else f"names /{name}"
    introduction = f"[A message {why}, so your skill {name} is opened here.]"
    return f"{introduction}\n{format_skill(name, content, files)}"


def find_matches(text: str, skills: Iterable[tuple[str, Sequence[str]]]) -> list[SkillMatch]:
    """The skills that a message calls for, those that it names by ``/name`` first.

    ``skills``: names with their keywords. A keyword counts as whole words, in any letter case.
    """
    named, found = [], []
    for name, keywords in skills:
        if _named(name).search(text):
            named.append(SkillMatch(name))
            continue
        keyword = next((word for word in keywords if _whole_words(word).search(text)), None)
        if keyword is not None:
            found.append(SkillMatch(name, keyword))
    return [*named, *found][:MAX_LOADED_BY_MESSAGE]


@lru_cache(maxsize=1024)
def _named(name: str) -> re.Pattern[str]:
    # Not a part of an address or path: those have something before the slash or after the name.
    return re.compile(rf"(?<![^\s(]){re.escape('/' + name)}(?![\w/-])", re.IGNORECASE)


@lru_cache(maxsize=4096)
def _whole_words(keyword: str) -> re.Pattern[str]:
    words = r"\s+".join(re.escape(word) for word in keyword.split())
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
