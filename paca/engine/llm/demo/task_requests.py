"""Reads the messages in which the platform asks an agent for work on a task."""

import re
from dataclasses import dataclass
from enum import StrEnum

NO_DESCRIPTION = "(The task has no description.)"
KEY = r"(?P<key>[A-Z][A-Z0-9]*-\d+)"
HEADING = re.compile(rf"^# {KEY}: (?P<title>.+)$", re.M)
QUOTED_COMMENT = "The comment that it answers:\n\n> "
MENTION = re.compile(r"@[\w.-]+[,:]?")


class Cause(StrEnum):
    """What has asked for the work."""

    ASSIGNMENT = "assignment"
    MENTION = "mention"
    DESCRIPTION = "description"
    INSTRUCTION = "instruction"


# The first line of each message. An instruction has none.
FIRST_LINES = (
    (Cause.MENTION, re.compile(rf'.+? mentioned you in a comment on ({KEY} "|the doc ")')),
    (Cause.DESCRIPTION, re.compile(rf'.+? asks you to write the description of {KEY} "')),
    (Cause.ASSIGNMENT, re.compile(rf"(?:.+ assigned )?{KEY} (?:was assigned )?to you\. ")),
)


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """What is asked for, and the task with its key; both are empty if it is about a doc.

    ``words`` is the text of the person. Title and description are empty if the message does not have them.
    """

    cause: Cause
    key: str = ""
    title: str = ""
    description: str = ""
    words: str = ""


def read(text: str) -> TaskRequest | None:
    """The request of this message; None if the message is not about a task or a doc."""
    first_line = text.partition("\n")[0]
    heading = HEADING.search(text)
    for cause, pattern in FIRST_LINES:
        if found := pattern.match(first_line):
            rest = text[len(first_line) :]
            if found["key"] is None:
                return TaskRequest(cause, words=_words(rest))
            return _request(cause, found["key"], rest)
    return _request(Cause.INSTRUCTION, heading["key"], text) if heading else None


def _request(cause: Cause, key: str, text: str) -> TaskRequest:
    heading = HEADING.search(text)
    if heading is None:
        return TaskRequest(cause, key, words=_words(text))
    words, description = _words(text[: heading.start()]), text[heading.end() :].strip()
    if description == NO_DESCRIPTION:
        description = ""
    return TaskRequest(cause, key, heading["title"].strip(), description, words)


def _words(text: str) -> str:
    """What the person wrote, without the handle of the agent and the comment that it answers."""
    return MENTION.sub("", text.partition(QUOTED_COMMENT)[0]).strip()
