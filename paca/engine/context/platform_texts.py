"""The texts by which the platform itself speaks to the model in the history."""

from __future__ import annotations

import json
from collections.abc import Sequence

from paca import events
from paca.engine.context.instructions import format_instructions
from paca.engine.context.skills import format_loaded
from paca.engine.llm.base import mark_as_data
from paca.engine.tools.background_state import note_of
from paca.events import Event

BEGINNING = "(The conversation begins here.)"
GO_ON = "Go on."
GO_ON_EXACTLY = "Your answer was cut at the output limit. Go on exactly where it stopped."
CUT_TO_NOTHING = (
    "[Your reply was cut at the output limit; a cut tool call is not run. Write less at once.]"
)
NO_RESULT = "No result was recorded for this call; its outcome is unknown. Check before repeating."
NO_OUTPUT = "(no output)"
STOPPED = "[A person stopped you here.]"
ANSWER_AGAIN = "Then write your whole answer again: only the last one is delivered."
TOLD_OTHERWISE = ("interrupted", "forked")  # reasons of ends that have an event of their own
FORKED = (
    "[A person forked the conversation here: what is above is a copy of another conversation. Your"
    " sandbox is a new one. {} Installed programs and running commands of the other one are not in it.]"
)
CLONED = "[{} was cloned before you began. What followed, with the output of its own setup script if that ran:]"
NO_FILES = "It is empty: the files of the other conversation are not in it."
FILES_OF_FORK = {
    "later": (
        "The files of the other conversation are copied into its workspace when you first use it, and you are"
        " told then as of when they are."
    ),
    "none": "It is empty, as the other one was at this point.",
    "deleted": "It is empty: the files of the other conversation were deleted.",
}
NOT_COPIED = (
    "[The files of the other conversation are not in your workspace, which is empty: {}. Tell the person if you"
    " need them.]"
)

PLAN_MODE = (
    "[Plan mode is on. Only tools that read run now, and every other call is refused. Look at what you need, and"
    " ask with ask_person what only people know. Then call propose_plan, and do the work once a person has"
    " approved it.]"
)
PLAN_MODE_OFF = "[Plan mode is off. All your tools run now.]"


def text_of(event: Event) -> str:
    """The text of an event that stands in the history like a message."""
    match event:
        case events.SkillLoaded():
            return format_loaded(event.skill, event.text, event.keyword, event.files)
        case events.InstructionsRead():
            return format_instructions(event.path, event.text, truncated=event.truncated)
        case events.RepositoryCloned(path=path, setup=setup) if setup:
            return f"{CLONED.format(path)}\n{mark_as_data(setup, path)}"
        case events.ConversationForked(files=files):
            return FORKED.format(FILES_OF_FORK.get(files, NO_FILES))
        case events.SandboxFilesCopied():
            return _text_of_copy(event)
        case events.FlagsChanged(plan=bool() as plan):
            return PLAN_MODE if plan else PLAN_MODE_OFF
        case events.ReminderGiven(kind=kind, text=text):
            verifies = kind == "verification"
            return f"[{text}\n{ANSWER_AGAIN}]" if verifies else f"[From your settings: {text}]"
        case _:
            return notice_of(event)


def _text_of_copy(event: events.SandboxFilesCopied) -> str:
    if event.error:
        return NOT_COPIED.format(event.error)
    said = [
        f"The workspace has a copy of the files of the other conversation, made at {event.copied_at}"
        f" ({_count(event.files, 'file or folder', 'files and folders')}, {event.bytes:,} bytes)."
    ]
    if event.commands_since:
        said.append(
            f"The files are as they were then: {_count(event.commands_since, 'command or edit', 'commands and edits')}"
            " ran there after the point of the fork, so they may differ from what is above."
        )
    else:
        said.append("No command ran there after the point of the fork.")
    if event.changed:
        said.append(
            f"{_count(event.changed, 'entry was', 'entries were')} written to during the copy: check files before"
            " you rely on them."
        )
    if event.skipped:
        said.append(
            f"{_count(event.skipped, 'entry', 'entries')} could not be copied, such as a socket."
        )
    return f"[{' '.join(said)}]"


def _count(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"


def change_of(event: events.MessageEdited | events.MessageWithdrawn) -> str:
    """What the model is told of a change to a message that it has read."""
    text = event.text if isinstance(event, events.MessageEdited) else ""
    change = (
        f"changed an earlier message. It is now:]\n{text}"
        if text
        else "took back an earlier message.]"
    )
    return f"[{event.by or 'The author'} {change}"


def notice_of(event: Event) -> str:
    """The text in brackets by which the platform tells the model about an event."""
    if isinstance(event, events.BackgroundFinished):
        return note_of(event)
    match event:
        case events.LimitNeared(which=which, left=left):
            return _text_of_near_limit(which, left)
        # A log of an earlier version has summaries at step limits only, and does not say so.
        case (
            events.LimitReached(which="step_limit" as which)
            | events.LimitReached(which=which, summary=True)
        ):
            return _text_of_reached_limit(which)
        case events.GuardNoticed(note=note):
            return f"[{note}]"
        case events.ConversationInterrupted(by=by):
            return f"[{by or 'A person'} interrupted you here. What they say next comes first.]"
        case events.TurnFinished(status="stopped", reason=reason) if reason not in TOLD_OTHERWISE:
            return STOPPED
        case events.TurnFinished(reason="time_limit"):
            return "[The time limit of the turn was reached here.]"
    return ""


def _text_of_near_limit(which: str, left: float) -> str:
    if which == "step_limit":
        return (
            f"[{left:.0f} steps are left in this turn. Finish what matters most,"
            " then answer with a summary.]"
        )
    amount = {
        "token_budget": f"About {left:,.0f} tokens are",
        "cost_budget": f"About ${left:.2f} is",
        "time_limit": f"About {left:.0f} seconds are",
    }.get(which, "Little is")
    return f"[{amount} left of a limit of your work. Finish what matters most, then answer with a summary.]"


def _text_of_reached_limit(which: str) -> str:
    limit = {
        "step_limit": "step limit of this turn",
        "time_limit": "time limit of this turn",
        "token_budget": "limit of tokens",
        "cost_budget": "limit of costs",
    }.get(which, "limit")
    return (
        f"[The {limit} is reached. Do not call tools. Say briefly what is"
        " done, what is not, and what the next step would be.]"
    )


def attachments(paths: Sequence[str]) -> str:
    """The end of a message that names the files which its sender has put into the workspace; empty without any."""
    if not paths:
        return ""
    named = ", ".join(json.dumps(path, ensure_ascii=False) for path in paths)
    return f"\n\n[Attached files, which are in your workspace: {named}]"
