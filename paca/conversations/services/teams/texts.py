"""The texts that a lead and its teammates read."""

from __future__ import annotations

from collections.abc import Iterable

from paca.conversations.models import Teammate, TeamTask
from paca.engine.tools.formatting import truncate_middle
from paca.projects.models import Task

MAX_DESCRIPTION = 4_000  # characters of a claimed task's description

_RULES = """\
You are {name}, a teammate in a team of agents. Your role: {role}
- The conversation of the lead started you. You share its workspace and files with the other teammates: change \
only what your work needs.
- The final answer of your turn goes to the lead by itself, so do not send it as well. Say what you did, how you \
checked it, and what is left, in a few sentences.
- Then you are idle until a message comes or a task of the team is free, which you get by itself.
- send_message reaches the lead, a teammate by name, or all. Do not write thanks or confirmations.\
"""
_PLANS_FIRST = """\
- You work only after the lead has approved your plan: look first, then call submit_plan, and end your turn. Until \
then your tools change nothing.\
"""


def beginning(name: str, role: str, work: str, *, plans_first: bool) -> str:
    """The message that begins the conversation of a teammate."""
    rules = _RULES.format(name=name, role=role)
    parts = [rules, *([_PLANS_FIRST] if plans_first else [])]
    return "\n".join([*parts, "", "Your work:", work])


def message(sender: str, text: str) -> str:
    """A message of the lead or of a teammate."""
    return f"Message from {sender} of your team:\n{text}"


def report(mate: Teammate, said: str, claims: Iterable[TeamTask]) -> str:
    """What the lead reads when a turn of a teammate has ended."""
    words, _ = truncate_middle(said.strip() or "It said nothing.")
    tasks = [
        f"{each.task.key} is {'done' if each.task.status.category == 'done' else 'still open'}."
        for each in claims
    ]
    return "\n".join([f"{mate.name} has ended its turn:", words, *tasks])


def ending(mate: Teammate, why: str, detail: str) -> str:
    """What the lead reads when a teammate has ended otherwise than by itself."""
    reasons = {
        "stopped": "was stopped",
        "failed": "has failed and works no longer",
        "limit": "has reached a limit and works no longer",
        "unreviewed": "has ended: nobody reviewed its plan in time",
    }
    words = f"{mate.name} {reasons.get(why, 'has ended')}."
    return f"{words} {detail}".rstrip()


def claimed(task: Task) -> str:
    """What a teammate reads of the task that it has claimed."""
    description = task.description.strip()
    if len(description) > MAX_DESCRIPTION:
        description = f"{description[:MAX_DESCRIPTION]} [... read_task shows the rest]"
    about = f"\n{description}" if description else ""
    return (
        f"You have claimed {task.key}: {task.title}{about}\n"
        "Do it. Set its status when it is done, as far as your role allows it."
    )


def shutdown(reason: str) -> str:
    """The lead's request to end, as the teammate reads it."""
    why = f" Its reason: {reason}" if reason else ""
    return (
        f"The lead asks you to end.{why}\nCall answer_shutdown: agree, or say why you have to go on."
        " Without an answer you are stopped."
    )


def shutdown_answer(mate: Teammate, *, agrees: bool, reason: str) -> str:
    """The teammate's answer to it, as the lead reads it."""
    said = f" It says: {reason}" if reason else ""
    return f"{mate.name} {'agrees to end' if agrees else 'goes on'}.{said}"


def plan(mate: Teammate, text: str) -> str:
    """A teammate's plan, as the lead reads it."""
    return f"{mate.name} asks you to approve its plan with review_plan:\n{text}"


def plan_decision(*, approved: bool, feedback: str) -> str:
    """The lead's decision on it, as the teammate reads it."""
    said = f" The lead says: {feedback}" if feedback else ""
    if approved:
        return f"Your plan is approved, and all your tools run. Do what it says.{said}"
    return f"Your plan is rejected.{said} Change it and submit it again."
