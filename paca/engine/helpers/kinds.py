"""The kinds of helpers, and the first message of each."""

from __future__ import annotations

from enum import StrEnum


class HelperKind(StrEnum):
    """What a helper is for. All but general and code have read-only tools."""

    GENERAL = "general"
    EXPLORE = "explore"
    PLAN = "plan"
    CODE = "code"
    RESEARCH = "research"


# Not those that only read, so that a kind of a later version is read-only until it is entered here.
WRITES = (HelperKind.GENERAL, HelperKind.CODE)

_ROLES = {
    HelperKind.GENERAL: "You do one piece of work for another conversation of the same agent.",
    HelperKind.EXPLORE: "You look at the files for another conversation of the same agent, and change nothing."
    " Name files with their paths and lines.",
    HelperKind.PLAN: "You plan a piece of work for another conversation of the same agent, and change nothing."
    " Look first, then give the steps, the files that they touch, and the risks.",
    HelperKind.CODE: "You write code for another conversation of the same agent. Others work in the same files"
    " beside you: change only what your task names, and check the result.",
    HelperKind.RESEARCH: "You find facts for another conversation of the same agent in the project and its files, and"
    " change nothing. Say where each fact stands.",
}


def reads_only(kind: str) -> bool:
    """Whether helpers of this kind have read-only tools; an unknown kind has."""
    # guard: helper-kind-reads-only
    return kind not in WRITES


def first_message(kind: str, task: str) -> str:
    """The message that begins the conversation of a helper."""
    role = _ROLES[HelperKind(kind)]
    return f"{role}\n\nThe task:\n{task}"
