"""The demo model understands the messages that the platform sends about tasks and docs."""

import pytest

from paca.accounts.models import User
from paca.conversations.services import trigger_texts
from paca.engine.llm.demo import task_requests
from paca.engine.llm.demo.task_requests import Cause, TaskRequest
from paca.projects.models import Comment, Doc, Member, Project, Task

ADA = Member(kind=Member.Kind.HUMAN, user=User(username="ada", name="Ada"))
TASK = Task(
    project=Project(prefix="HARB"),
    number=7,
    title='Bob assigned X-1 to you. "Hi": # twice',
    description="Why.",
)
BARE = Task(project=Project(prefix="HARB"), number=8, title="Bare")
DOC = Doc(title="Tides", text="# HARB-9: no task")
FULL = {"key": "HARB-7", "title": TASK.title, "description": "Why."}
EARLIER = Comment(text="# HARB-1: earlier")
REPLY = Comment(text="@guide go on", parent=EARLIER)


def mention(subject, *, is_first, text="@guide go on", comment=None):
    return trigger_texts.mention(subject, text=text, by=ADA, comment=comment, is_first=is_first)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (trigger_texts.assignment(TASK, by=ADA), TaskRequest(Cause.ASSIGNMENT, **FULL)),
        (
            trigger_texts.assignment(BARE, by=None, text="Soon, please."),
            TaskRequest(Cause.ASSIGNMENT, "HARB-8", "Bare", words="Soon, please."),
        ),
        (mention(TASK, is_first=True), TaskRequest(Cause.MENTION, **FULL, words="go on")),
        (mention(TASK, is_first=False), TaskRequest(Cause.MENTION, "HARB-7", words="go on")),
        (mention(DOC, is_first=False), TaskRequest(Cause.MENTION, words="go on")),
        (
            mention(TASK, is_first=False, comment=REPLY),
            TaskRequest(Cause.MENTION, "HARB-7", words="go on"),
        ),
        (
            trigger_texts.description_request(TASK, instruction="Short.", by=ADA),
            TaskRequest(Cause.DESCRIPTION, **FULL, words="Short."),
        ),
        (
            trigger_texts.instruction_on(TASK, "Do it."),
            TaskRequest(Cause.INSTRUCTION, **FULL, words="Do it."),
        ),
        (trigger_texts.instruction_on(None, "Do it."), None),
        ("Look around the sandbox", None),
    ],
)
def test_demo_model_reads_what_is_asked_for(text: str, expected: TaskRequest | None) -> None:
    assert task_requests.read(text) == expected
