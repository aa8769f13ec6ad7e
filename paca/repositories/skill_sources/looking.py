"""What a person sees before taking skills of a repository, and what has changed since."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from paca.agents.models import Skill, SkillFile
from paca.agents.services.skills import GitOrigin, distinct_keywords
from paca.agents.skill_archive import UploadedSkill
from paca.agents.skill_document import SkillDocument
from paca.common.errors import Conflict, Invalid
from paca.repositories.broker.routes import Route
from paca.repositories.skill_sources import fetching, marketplace
from paca.repositories.skill_sources.address import SkillSource
from paca.repositories.skill_sources.fetching import Snapshot, TreeEntry
from paca.repositories.skill_sources.marketplace import Marketplace
from paca.repositories.skill_sources.reading import (
    MAX_SKILLS,
    FoundSkill,
    SkillFolders,
    read_skill,
    text_of,
)
from paca.sandbox.runner import textdiff

MAX_MARKETPLACE_BYTES = 1 << 20
COMPARE_SECONDS = 5.0


class NoSkillFound(Conflict):
    """There is no SKILL.md in there. Check the branch and the folder, or take another repository."""

    code = "no_skill_found"


@dataclass(frozen=True, slots=True)
class Found:
    """The skills of a source at a commit. ``left_out``: how many more there are than are shown."""

    source: SkillSource
    commit: str
    skills: tuple[FoundSkill, ...]
    marketplace: Marketplace | None
    left_out: int


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a skill: here, and at the other commit. ``diff`` is None for what is no text, or too much."""

    path: str
    change: str
    diff: str | None


@dataclass(frozen=True, slots=True)
class UpdateCheck:
    """The skill at the present commit of its branch or tag, against what the agent has."""

    commit: str
    moved: bool
    found: FoundSkill
    changes: tuple[FileChange, ...]


def look(source: SkillSource, route: Route) -> Found:
    """Read what a source has.

    Raises ``NoSkillFound``, ``Invalid`` if there is no such folder, and what ``fetching.read`` raises.
    """
    folders = SkillFolders(())

    def choose(entries: Sequence[TreeEntry]) -> list[TreeEntry]:
        nonlocal folders
        folders = SkillFolders(entries, below=source.folder)
        lists = [
            each
            for each in entries
            if not source.folder
            and each.path in marketplace.PATHS
            and (each.size or 0) <= MAX_MARKETPLACE_BYTES
        ]
        read = folders.to_read(folders.names[:MAX_SKILLS])
        return [*lists, *(each for each in read if each not in lists)]

    snapshot = fetching.read(source, route, choose)
    if not folders.exists:
        raise Invalid(fields={"folder": ["The repository has no such folder at this commit."]})
    listed = marketplace.read(snapshot.data, folders.names) if not source.folder else None
    if not folders.names and not (listed and listed.plugins):
        raise NoSkillFound
    shown = folders.names[:MAX_SKILLS]
    skills = tuple(read_skill(snapshot, folders, folder) for folder in shown)
    return Found(source, snapshot.commit, skills, listed, len(folders.names) - len(shown))


def take(
    source: SkillSource, route: Route, wanted: Sequence[str]
) -> tuple[Snapshot, list[FoundSkill]]:
    """Read the skills in these folders.

    Raises ``NoSkillFound`` if one is not there, ``Invalid`` if one cannot be taken, and what ``fetching.read`` raises.
    """
    folders = SkillFolders(())

    def choose(entries: Sequence[TreeEntry]) -> list[TreeEntry]:
        nonlocal folders
        folders = SkillFolders(entries)
        return folders.to_read(wanted)

    snapshot = fetching.read(source, route, choose)
    found = []
    for folder in wanted:
        if folder not in folders.names:
            raise NoSkillFound(
                f"There is no SKILL.md in {folder or 'the top folder'} at commit {snapshot.commit[:12]}. It was moved or"
                " deleted: look at the repository again."
            )
        skill = read_skill(snapshot, folders, folder)
        # guard: only-readable-skills-are-taken
        if skill.read is None:
            raise Invalid(fields={"folders": [f"{folder or 'The top folder'}: {skill.problem}"]})
        found.append(skill)
    return snapshot, found


def take_shown(url: str, commit: str, route: Route, wanted: Sequence[str]) -> list[FoundSkill]:
    """Read the skills in these folders at the commit that a person has seen.

    Raises ``Invalid`` if this is the name of something else, such as a tag, and what ``take`` raises.
    """
    # guard: skills-are-taken-at-the-commit-that-was-shown
    snapshot, found = take(SkillSource(url, commit), route, wanted)
    # guard: name-of-a-commit-is-no-branch
    if snapshot.commit != commit:
        raise Invalid(fields={"commit": ["The repository has no such commit."]})
    return found


def origin_of(source: SkillSource, skill: FoundSkill, commit: str) -> GitOrigin:
    """What the agent's skill remembers."""
    return GitOrigin(source.url, source.ref, skill.folder, commit)


def source_of(skill: Skill) -> SkillSource:
    """Where a skill from git came from. Raises ``Conflict`` for another one."""
    if skill.source != Skill.Source.GIT:
        raise Conflict("This skill is not from git, so it has no updates.")
    return SkillSource(skill.git_url, skill.git_ref, skill.git_folder)


def check(skill: Skill, route: Route) -> UpdateCheck:
    """Compare a skill with the present commit of its source. Nothing changes.

    Raises ``NoSkillFound`` if it is not there any more, and what ``take`` raises.
    """
    snapshot, [found] = take(source_of(skill), route, [skill.git_folder])
    assert found.read is not None
    changes = tuple(_changes(skill, found.read))
    return UpdateCheck(snapshot.commit, snapshot.commit != skill.git_commit, found, changes)


def _changes(skill: Skill, new: UploadedSkill) -> list[FileChange]:
    rows = SkillFile.objects.filter(skill=skill)
    stored = {each.path: bytes(each.data) for each in rows}
    now = SkillDocument(skill.name, skill.description, skill.content, tuple(skill.triggers))
    triggers = tuple(distinct_keywords(new.document.triggers)) or now.triggers
    then = SkillDocument(
        skill.name, " ".join(new.document.description.split()), new.document.content, triggers
    )
    found = []
    if now != then:
        found.append(_change("SKILL.md", _document(now).encode(), _document(then).encode()))
    until = time.monotonic() + COMPARE_SECONDS
    for path in sorted({*stored, *new.files}):
        if stored.get(path) != new.files.get(path):
            # guard: skill-comparison-is-bounded
            compared = time.monotonic() < until
            found.append(_change(path, stored.get(path), new.files.get(path), compared=compared))
    return found


def _document(document: SkillDocument) -> str:
    keywords = ", ".join(document.triggers)
    return f"When to use it: {document.description}\nKeywords: {keywords or 'none'}\n\n{document.content}"


def _change(
    path: str, old: bytes | None, new: bytes | None, *, compared: bool = True
) -> FileChange:
    kind = "added" if old is None else "deleted" if new is None else "changed"
    before, after = text_of(old or b""), text_of(new or b"")
    if before is None or after is None or not compared:
        return FileChange(path, kind, None)
    return FileChange(path, kind, textdiff.compare(before, after, path)[2])
