"""The tool that comments, and the words in which comments are read."""

from __future__ import annotations

from pydantic import Field

from paca.common.errors import Invalid
from paca.common.text import to_utf8
from paca.engine.tools.base import Effect, ToolArguments, ToolContext
from paca.engine.tools.formatting import to_one_line
from paca.projects.mentions import find_handles
from paca.projects.models import Comment, Doc, Task
from paca.projects.models.comment import MAX_COMMENT_CHARACTERS
from paca.projects.services import comments
from paca.projects.tools import lookup, text
from paca.projects.tools.arguments import Name, NonEmptyText, TaskKeyText
from paca.projects.tools.base import Caller, ProjectTool

MAX_COMMENTS = 30
# Shares of a tool's output, in bytes.
SHOWN_BYTES = 8_000
ONE_COMMENT_BYTES = 4_000
WHOLE_BYTES = 19_000
MAX_LINES = 2000


def newest(subject: Task | Doc, *, before: str | None = None) -> str:
    """The newest comments that fit, those before the comment with the id ``before``, the oldest first.

    Raises ``NotFound`` if there is no such comment.
    """
    live = subject.comments.live().select_related("author__user", "author__agent")
    if before is not None:
        end = lookup.comment(subject, before)
        live = live.filter(created_at__lt=end.created_at)
    found = list(live.order_by("-created_at", "-id")[: MAX_COMMENTS + 1])
    shown: list[str] = []
    left = SHOWN_BYTES
    for comment in found[:MAX_COMMENTS]:
        words = text.comment_text(comment, ONE_COMMENT_BYTES)
        left -= len(to_utf8(words))
        if shown and left < 0:
            break
        shown.append(words)
    if len(found) > len(shown):
        oldest = found[len(shown) - 1]
        shown.append(f"[older ones: before_comment={str(oldest.pk)[: lookup.SHORT_ID]}]")
    return "\n\n".join(reversed(shown))


def whole(subject: Task | Doc, comment_id: str, *, first_line: int) -> str:
    """The comment with this id from the line ``first_line`` on; a long one comes in parts.

    Raises ``NotFound`` if there is no such comment.
    """
    found = lookup.comment(subject, comment_id)
    return text.comment_lines(found, first=first_line, count=MAX_LINES, limit=WHOLE_BYTES)


class AddComment(ProjectTool["AddComment.Arguments"]):
    """Comment on a task or a doc.

    Write @handle to call a member: a person is notified, an agent begins to work.
    """

    name = "add_comment"
    effect = Effect.KEYED
    permission = "tasks:write"

    class Arguments(ToolArguments):
        task: TaskKeyText | None = Field(default=None, description="The task, such as PACA-4.")
        doc: Name | None = Field(default=None, description="The id or title of the doc.")
        text: NonEmptyText = Field(
            max_length=MAX_COMMENT_CHARACTERS, description="The comment, in Markdown."
        )
        answer_to: Name | None = Field(default=None, description="The id of a comment to answer.")

    def permission_for(self, arguments: Arguments) -> str:
        return "docs:write" if arguments.doc else "tasks:write"

    def subject(self, arguments: Arguments) -> str:
        if arguments.task:
            return text.task_subject(arguments.task)
        return to_one_line(arguments.doc or "")

    def act_on(self, caller: Caller, arguments: Arguments, context: ToolContext) -> str:
        subject = _subject_of(caller, arguments)
        parent = lookup.comment(subject, arguments.answer_to) if arguments.answer_to else None
        comment = comments.add(
            subject,
            text=arguments.text,
            by=caller.member,
            parent=parent,
            conversation_id=caller.conversation_id,
        )
        place = subject.key if isinstance(subject, Task) else subject.title
        short_id = str(comment.pk)[: lookup.SHORT_ID]
        return " ".join([f"Commented on {place} ({short_id}).", *_mentions(comment)])


def _subject_of(caller: Caller, arguments: AddComment.Arguments) -> Task | Doc:
    if bool(arguments.task) == bool(arguments.doc):
        raise Invalid("Nothing was written: name either a task or a doc to comment on.")
    if arguments.task:
        return lookup.task(caller.project, arguments.task)
    return lookup.doc(caller.project, arguments.doc or "")


def _mentions(comment: Comment) -> list[str]:
    """Who was mentioned, and which handles no member has."""
    rows = comment.mentions.select_related("member__user", "member__agent")
    members = [row.member for row in rows]
    handles = {member.handle.lower() for member in members}
    handles.add(comment.author.handle.lower())
    unknown = [handle for handle in find_handles(comment.text) if handle not in handles]
    words = [f"Mentioned: {text.names(members)}."] if members else []
    if unknown:
        words.append(f"No member has the handle {', '.join(f'@{handle}' for handle in unknown)}.")
    return words
