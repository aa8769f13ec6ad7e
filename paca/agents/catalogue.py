"""What an agent can be made from: the built-in skills, and the types of agents with their prompts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from paca.agents import skill_document
from paca.agents.models.choices import AgentCategory
from paca.agents.skill_document import SkillDocument
from paca.common.errors import Invalid

FOLDER = Path(__file__).parent / "skill_templates"
SKILL_TEMPLATES = ("po-assistant", "ba", "developer", "manual-tester")


@dataclass(frozen=True, slots=True)
class AgentType:
    """A template of an agent: what its settings are at first. ``skills`` are slugs of skill templates.

    A ``preset`` has a prompt and no skills.
    """

    slug: str
    name: str
    description: str
    system_prompt: str
    category: AgentCategory
    skills: tuple[str, ...] = ()

    @property
    def preset(self) -> bool:
        """Whether it is only a prompt to start from."""
        return not self.skills


CODING_PROMPT = """\
You are an experienced software engineer who works on code in {workspace}.
Look before you change: read the code around a change, and follow its style. Make the smallest change that \
does what was asked. Run the tests, and say which commands show that it works. If something fails that you \
did not cause, say so and leave it."""
WORK_PROMPT = """\
You are a careful colleague for research, writing and office work. Your files are in {workspace}.
Find out who the result is for and what they will do with it. Separate what you know, with its source, from \
what you assume. Write briefly and plainly, check figures and names once more, and deliver one result that \
can be used as it is."""
PO_PROMPT = """\
You help the product owner: you turn wishes into tasks that can be done and checked, and keep the backlog in \
order. You propose, people decide: do not close tasks, change priorities or promise dates by yourself. Ask \
one question at a time, of the person who can answer it."""
BA_PROMPT = """\
You are a business analyst: you find out what is needed and write it so that it can be built and tested. You \
do not design the solution. Give each statement its source, mark what is assumed, and name contradictions \
instead of smoothing them over."""
DEVELOPER_PROMPT = """\
You are a software developer of this project. You implement tasks, fix bugs and write tests in {workspace}. \
A task is done when each of its acceptance criteria is checked and the tests pass. Keep to the task: what you \
notice beside it becomes a remark or a task of its own."""
TESTER_PROMPT = """\
You are the tester of this project: you look for the ways in which it fails, and report them so that others \
can repeat them. Test against the acceptance criteria first, then beyond them. Report what you saw, never \
what you suppose, and do not repair anything yourself."""

AGENT_TYPES = (
    AgentType(
        "coding",
        "Coding",
        "Reads, writes and tests code.",
        CODING_PROMPT,
        AgentCategory.ENGINEERING,
    ),
    AgentType(
        "work", "Work", "Researches, writes and calculates.", WORK_PROMPT, AgentCategory.ASSISTANT
    ),
    AgentType(
        "own", "Own prompt", "Begins without a prompt; you write it.", "", AgentCategory.CUSTOM
    ),
    AgentType(
        "po-assistant",
        "Product owner's assistant",
        "Writes acceptance criteria, grooms the backlog and sketches roadmaps.",
        PO_PROMPT,
        AgentCategory.PRODUCT,
        ("po-assistant",),
    ),
    AgentType(
        "ba",
        "Business analyst",
        "Collects requirements, writes functional specs and finds gaps.",
        BA_PROMPT,
        AgentCategory.PRODUCT,
        ("ba",),
    ),
    AgentType(
        "developer",
        "Developer",
        "Implements tasks, fixes bugs and writes tests.",
        DEVELOPER_PROMPT,
        AgentCategory.ENGINEERING,
        ("developer",),
    ),
    AgentType(
        "manual-tester",
        "Manual tester",
        "Writes test cases and plans, and reports defects.",
        TESTER_PROMPT,
        AgentCategory.QUALITY,
        ("manual-tester",),
    ),
)


class UnknownTemplate(Invalid):
    """There is no template of this name."""

    code = "unknown_template"


@cache
def skill_templates() -> tuple[SkillDocument, ...]:
    """The built-in skills. Their names are their slugs."""
    return tuple(
        skill_document.parse((FOLDER / f"{slug}.md").read_text(encoding="utf-8"))
        for slug in SKILL_TEMPLATES
    )


def skill_template(slug: str) -> SkillDocument:
    """A built-in skill. Raises ``UnknownTemplate``, whose text lists the known ones."""
    for template in skill_templates():
        if template.name == slug:
            return template
    raise UnknownTemplate(f"There is no such template. There are {', '.join(SKILL_TEMPLATES)}.")


def category_of(type_slug: str) -> AgentCategory:
    """The category that agents of this type are sorted into at first. A type that has no template is custom."""
    found = (each.category for each in AGENT_TYPES if each.slug == type_slug)
    return next(found, AgentCategory.CUSTOM)


def agent_type(slug: str) -> AgentType:
    """A type of agents. Raises ``UnknownTemplate``, whose text lists the known ones."""
    for each in AGENT_TYPES:
        if each.slug == slug:
            return each
    known = ", ".join(each.slug for each in AGENT_TYPES)
    raise UnknownTemplate(f"There is no such type of agents. There are {known}.")
