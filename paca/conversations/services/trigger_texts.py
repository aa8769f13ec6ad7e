"""The messages that tell an agent about an assignment, a mention, or a description to write."""

from collections.abc import Sequence
from datetime import datetime

from paca.conversations.models import CheckIn
from paca.projects.models import Comment, Doc, Member, Task

MAX_TEXT_CHARACTERS = 50_000
MAX_QUOTE_CHARACTERS = 2_000
ANSWER_IS_POSTED = "Your final answer is posted as your comment there."
READ_ONLY = (
    "You have read-only tools and can change nothing, neither files nor tasks nor docs. If something should be"
    " changed, say so in your answer."
)
MAY_ACT = "You may act. Change the status of a task only if you have done what the status says."


def name_of(subject: Task | Doc) -> str:
    """The task or doc in one line, such as ``PACA-42 "Fix the login"``. A task needs its project."""
    key = subject.key if isinstance(subject, Task) else "the doc"
    return f'{key} "{subject.title}"'


def title_of(subject: Task | Doc) -> str:
    """The title of a conversation about the task or doc."""
    return f"{subject.key} {subject.title}" if isinstance(subject, Task) else subject.title


def assignment(task: Task, *, by: Member | None, text: str = "") -> str:
    """The message of an assignment: who assigned it, ``text``, the key, the title and the description."""
    who = f"{by.name} assigned {task.key} to you." if by else f"{task.key} was assigned to you."
    parts = [f"{who} {ANSWER_IS_POSTED}", text.strip(), _describe(task)]
    return "\n\n".join(part for part in parts if part)


def mention(
    subject: Task | Doc, *, text: str, by: Member | None, comment: Comment | None, is_first: bool
) -> str:
    """The message of a mention: the comment, what it answers, and at first the task or doc."""
    who = by.name if by else "A program"
    parts = [f"{who} mentioned you in a comment on {name_of(subject)}. {ANSWER_IS_POSTED}", text]
    if comment is not None and comment.parent is not None and comment.parent.deleted_at is None:
        quoted = _cut(comment.parent.text, MAX_QUOTE_CHARACTERS).replace("\n", "\n> ")
        parts.append(f"The comment that it answers:\n\n> {quoted}")
    if is_first:
        parts.append(_describe(subject))
    return "\n\n".join(parts)


def description_request(task: Task, *, instruction: str, by: Member) -> str:
    """The message that asks for the description of a task."""
    ask = (
        f"{by.name} asks you to write the description of {name_of(task)}. Answer with the description"
        " in Markdown and nothing else. A person decides whether it is kept; do not change the task."
    )
    parts = [ask, instruction.strip(), _describe(task)]
    return "\n\n".join(part for part in parts if part)


def instruction_on(task: Task | None, instruction: str) -> str:
    """The message of ``execute``: the instruction, and the task that it is about."""
    return instruction if task is None else f"{instruction}\n\n{_describe(task)}"


def check_in(
    row: CheckIn, *, at: datetime, tasks: Sequence[Task] = (), by: Member | None = None
) -> str:
    """The message of a check-in: its slot in its time zone, what the agent may do, where the report goes, the prompt."""
    when = f"{at:%A, %d %B %Y, %H:%M} ({row.zone_name})"
    who = f"{by.name} has started it by hand." if by else "Nobody is watching."
    subject = row.task or row.doc
    if subject is None:
        report = "Your final answer stays in this conversation."
    elif isinstance(subject, Task):
        report = f"Your final answer is posted as your comment on {name_of(subject)}."
    else:
        report = f"Your final answer is appended to {name_of(subject)}."
    intro = f'This is your check-in "{row.name}" of {when}. {who} {report}'
    parts = [intro, MAY_ACT if row.auto_act else READ_ONLY, row.prompt.strip()]
    if tasks:
        lines = [f"- {name_of(task)} ({task.status.name})" for task in tasks]
        parts.append("\n".join(["Your most urgent open tasks:", *lines]))
    return "\n\n".join(parts)


def _describe(subject: Task | Doc) -> str:
    if isinstance(subject, Task):
        body = subject.description.strip() or "(The task has no description.)"
        return f"# {subject.key}: {subject.title}\n\n{_cut(body)}"
    return f"# {subject.title}\n\n{_cut(subject.text.strip()) or '(The doc is empty.)'}"


def _cut(text: str, limit: int = MAX_TEXT_CHARACTERS) -> str:
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n\n(The text goes on; this is its beginning.)"
