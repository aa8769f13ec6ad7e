"""What the tools of a team ask for, and its limits."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from paca.engine.tools.base import ToolArguments, refuse_nul

MAX_TEAMMATES = 5  # at the same time
MAX_EVER = 20  # that one conversation may spawn
MAX_NAME, MAX_ROLE, MAX_TEXT = 30, 500, 8_000  # characters
MAX_MESSAGES = 100  # of a team, until a person writes to its lead again
MAX_TASKS = 50  # of the plan of a team
LEAD, ALL, TEAM = "lead", "all", "team"
RESERVED = (LEAD, ALL, TEAM, "user", "agent", "system")


def _refuse_reserved(name: str) -> str:
    if name in RESERVED:
        raise ValueError(f"another name than {', '.join(RESERVED)}")
    return name


Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, pattern=rf"^[a-z][a-z0-9_-]{{0,{MAX_NAME - 1}}}$"),
]
NewName = Annotated[Name, AfterValidator(_refuse_reserved)]
Text = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TEXT),
    AfterValidator(refuse_nul),
]
Reason = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=1_000), AfterValidator(refuse_nul)
]
Role = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_ROLE),
    AfterValidator(refuse_nul),
]
Key = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=30),
    AfterValidator(refuse_nul),
]


class Spawn(ToolArguments):
    """A new teammate, and its first work."""

    name: NewName = Field(description="Short, lower case.")
    role: Role = Field(description="What it is good for.")
    work: Text = Field(description="All that it must know.")
    plan_first: bool = Field(
        default=False, description="It changes nothing before you approve its plan."
    )


class Message(ToolArguments):
    """A message within the team."""

    to: Name = Field(description="A name, lead, or all.")
    text: Text


class Nothing(ToolArguments):
    """No arguments."""


class Shutdown(ToolArguments):
    """The lead asks a teammate to end."""

    name: Name
    reason: Reason = ""


class ShutdownAnswer(ToolArguments):
    """The teammate's answer."""

    agree: bool
    reason: Reason = Field(default="", description="Why you go on, if you do not agree.")


class Plan(ToolArguments):
    """The plan that a teammate asks the lead to approve."""

    plan: Text


class PlanReview(ToolArguments):
    """The lead's decision on the plan of a teammate."""

    name: Name
    approve: bool
    feedback: Reason = ""


class AddTasks(ToolArguments):
    """Tasks for the plan of the team."""

    tasks: list[Key] = Field(min_length=1, max_length=MAX_TASKS, description="Keys of tasks.")


class ClaimTask(ToolArguments):
    """A task that a teammate wants to do."""

    task: Key
