"""Services that add, change and delete the skills of an agent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction
from django.db.models import Sum

from paca.accounts import audit
from paca.agents import catalogue, skill_archive
from paca.agents.models import Agent, Skill, SkillFile
from paca.agents.skill_archive import UploadedSkill
from paca.common import validation
from paca.common.errors import Conflict
from paca.common.text import is_storable
from paca.projects.signals import project_changed

SKILL_SETTINGS = frozenset({"description", "content", "triggers", "always_on", "enabled"})
MAX_SKILLS, MAX_AGENT_FILE_BYTES = 50, 16 << 20
MAX_AGENT_FILES = 200  # the start of a bubblewrap sandbox needs a descriptor for each


class TooManySkills(Conflict):
    """This agent has as many skills, or files of skills, as an agent can have."""

    code = "too_many_skills"


@dataclass(frozen=True, slots=True)
class GitOrigin:
    """Where in git a skill was read: the address, the branch or tag, the folder, and the full id of the commit."""

    git_url: str
    git_ref: str
    git_folder: str
    git_commit: str


@transaction.atomic
def create(
    agent: Agent,
    *,
    name: str,
    by: audit.HasActor | None,
    source: str = Skill.Source.INLINE,
    files: dict[str, bytes] | None = None,
    origin: GitOrigin | None = None,
    **settings: Any,
) -> Skill:
    """Add a skill to an agent. ``settings`` are any of ``SKILL_SETTINGS``, ``files`` the data by path.

    Raises ``Invalid`` with the errors of each field, and ``TooManySkills``.
    """
    from_git = asdict(origin) if origin else {}
    skill = Skill(agent=agent, name=name.strip(), source=source, **from_git)
    _apply(skill, settings)
    validation.check(skill)
    if agent.skills.count() >= MAX_SKILLS:
        raise TooManySkills(f"An agent has at most {MAX_SKILLS} skills. Delete one first.")
    _check_files(agent, files or {})
    skill.save()
    _add_files(skill, files or {})
    facts = {**_place(skill), "source": str(source), "files": len(files or {}), **from_git}
    audit.record("skill.created", skill, by=by, **facts)
    _tell_pages(agent)
    return skill


def create_from_template(agent: Agent, slug: str, *, by: audit.HasActor | None) -> Skill:
    """Add a built-in skill to an agent. Raises ``UnknownTemplate`` and what ``create`` raises."""
    template = catalogue.skill_template(slug)
    return create(
        agent,
        name=template.name,
        by=by,
        source=Skill.Source.TEMPLATE,
        description=template.description,
        content=template.content,
        triggers=list(template.triggers),
    )


def create_from_upload(agent: Agent, data: bytes, *, by: audit.HasActor | None) -> Skill:
    """Add a skill from a ``SKILL.md`` or a zip of its folder.

    Raises ``BadSkillDocument`` or ``BadSkillArchive`` if it cannot be read, and what ``create`` raises.
    """
    uploaded = skill_archive.read(data)
    return create(
        agent,
        name=uploaded.document.name,
        by=by,
        source=Skill.Source.UPLOAD,
        files=uploaded.files,
        description=uploaded.document.description,
        content=uploaded.document.content,
        triggers=list(uploaded.document.triggers),
    )


def create_from_git(
    agent: Agent, read: UploadedSkill, origin: GitOrigin, *, by: audit.HasActor | None
) -> Skill:
    """Add a skill that was read at a commit. Raises what ``create`` raises."""
    return create(
        agent,
        name=read.document.name,
        by=by,
        source=Skill.Source.GIT,
        files=read.files,
        origin=origin,
        description=read.document.description,
        content=read.document.content,
        triggers=list(read.document.triggers),
    )


@transaction.atomic
def take_commit(
    skill: Skill, read: UploadedSkill, commit: str, *, by: audit.HasActor | None
) -> Skill:
    """Replace text and files of a skill from git by those of another commit. Its name and settings stay, and so do its
    keywords if the document has none.

    Raises ``Invalid`` with the errors of each field, and ``TooManySkills``.
    """
    former, document = skill.git_commit, read.document
    given: dict[str, Any] = {"description": document.description, "content": document.content}
    if document.triggers:
        given["triggers"] = list(document.triggers)
    _apply(skill, given)
    skill.git_commit = commit
    validation.check(skill)
    SkillFile.objects.filter(skill=skill).delete()
    _check_files(skill.agent, read.files)
    skill.save()
    _add_files(skill, read.files)
    facts: dict[str, Any] = {
        "from": former,
        "to": commit,
        "git_url": skill.git_url,
        "files": len(read.files),
    }
    audit.record("skill.updated", skill, by=by, **_place(skill), **facts)
    _tell_pages(skill.agent)
    return skill


@transaction.atomic
def change(skill: Skill, *, by: audit.HasActor | None, **changes: Any) -> Skill:
    """Change the given ones of ``SKILL_SETTINGS``. The name stays, because conversations refer to it.

    Raises ``Invalid`` with the errors of each field.
    """
    before = Skill.objects.get(pk=skill.pk)
    _apply(skill, changes)
    validation.check(skill)
    changed = sorted(f for f in SKILL_SETTINGS if getattr(before, f) != getattr(skill, f))
    if not changed:
        return skill
    skill.save()
    audit.record("skill.changed", skill, by=by, **_place(skill), fields=changed)
    _tell_pages(skill.agent)
    return skill


@transaction.atomic
def delete(skill: Skill, *, by: audit.HasActor | None) -> None:
    """Delete the skill with its files. What conversations have read of it stays in their logs."""
    audit.record("skill.deleted", skill, by=by, **_place(skill))
    skill.delete()
    _tell_pages(skill.agent)


def _apply(skill: Skill, changes: dict[str, Any]) -> None:
    for field, value in changes.items():
        if field not in SKILL_SETTINGS:
            raise TypeError(f"a skill has no setting {field!r}")
        setattr(skill, field, value)
    skill.description = " ".join(skill.description.split())
    skill.content = skill.content.replace("\r\n", "\n") if skill.content.strip() else ""
    if isinstance(skill.triggers, list) and all(isinstance(each, str) for each in skill.triggers):
        skill.triggers = distinct_keywords(skill.triggers)


def distinct_keywords(keywords: Iterable[str]) -> list[str]:
    """The keywords with single spaces, each once whatever its letter case. They match in any case."""
    found: dict[str, str] = {}
    for keyword in keywords:
        words = " ".join(keyword.split())
        if words and is_storable(words):
            found.setdefault(words.casefold(), words)
    return list(found.values())


def _add_files(skill: Skill, files: dict[str, bytes]) -> None:
    SkillFile.objects.bulk_create(
        SkillFile(
            skill=skill,
            path=path,
            data=data,
            size_bytes=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
        )
        for path, data in files.items()
    )


def _check_files(agent: Agent, files: dict[str, bytes]) -> None:
    stored = SkillFile.objects.filter(skill__agent=agent)
    if stored.count() + len(files) > MAX_AGENT_FILES:
        raise TooManySkills(
            f"The skills of an agent have at most {MAX_AGENT_FILES} files together."
        )
    size = stored.aggregate(bytes=Sum("size_bytes"))["bytes"] or 0
    if size + sum(map(len, files.values())) > MAX_AGENT_FILE_BYTES:
        limit = f"{MAX_AGENT_FILE_BYTES >> 20} MiB"
        raise TooManySkills(f"The files of an agent's skills have at most {limit} together.")


def _place(skill: Skill) -> dict[str, Any]:
    return {"project_id": skill.agent.project_id, "agent": skill.agent.name}


def _tell_pages(agent: Agent) -> None:
    project_changed.send(sender=Skill, project_id=agent.project_id, noun="agent", id=agent.pk)
