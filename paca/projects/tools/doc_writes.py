"""The tools that create and change docs."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from paca.common.errors import Conflict, Invalid
from paca.engine.tools.base import Effect, ToolArguments, ToolContext
from paca.engine.tools.formatting import to_one_line
from paca.projects.models import Doc
from paca.projects.models.doc import MAX_DOC_CHARACTERS
from paca.projects.services import docs
from paca.projects.tools import lookup
from paca.projects.tools.arguments import Name, NonEmptyText, StorableText
from paca.projects.tools.base import Caller, ProjectTool


class CreateDoc(ProjectTool["CreateDoc.Arguments"]):
    """Create a doc in Markdown. Look with list_docs or search_project first whether there is one already."""

    name = "create_doc"
    effect = Effect.KEYED
    permission = "docs:write"

    class Arguments(ToolArguments):
        title: NonEmptyText = Field(max_length=200, description="The title.")
        text: StorableText = Field(max_length=MAX_DOC_CHARACTERS, description="The whole text.")
        folder: Name | None = Field(
            default=None, description="The path of a folder, such as Guides/Setup."
        )

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.title)

    def act_on(self, caller: Caller, arguments: Arguments, context: ToolContext) -> str:
        folder = lookup.folder(caller.project, arguments.folder or "")
        doc = docs.create(
            caller.project,
            title=arguments.title,
            text=arguments.text,
            folder=folder,
            by=caller.member,
        )
        return f"Created {doc.title}, version {doc.version} (id {doc.pk})."


class UpdateDoc(ProjectTool["UpdateDoc.Arguments"]):
    """Change a doc in one way: replace a piece of its text, append to it, or replace the whole text.

    For a piece give old and new; old must occur exactly once. For the whole text give text and the
    version that you have read: what others have written since is never overwritten.
    """

    name = "update_doc"
    effect = Effect.KEYED
    permission = "docs:write"

    class Arguments(ToolArguments):
        doc: Name = Field(description="The id or title of the doc.")
        old: StorableText | None = Field(
            default=None,
            max_length=MAX_DOC_CHARACTERS,
            description="The piece to replace, copied exactly.",
        )
        new: StorableText | None = Field(
            default=None,
            max_length=MAX_DOC_CHARACTERS,
            description="The replacement; may be empty.",
        )
        append: StorableText | None = Field(
            default=None, max_length=MAX_DOC_CHARACTERS, description="Text to add at the end."
        )
        text: StorableText | None = Field(
            default=None, max_length=MAX_DOC_CHARACTERS, description="The whole new text."
        )
        version: int | None = Field(
            default=None, ge=1, description="The version that you have read, for text."
        )
        title: NonEmptyText | None = Field(default=None, max_length=200, description="A new title.")

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.doc)

    def act_on(self, caller: Caller, arguments: Arguments, context: ToolContext) -> str:
        """Raises ``Invalid`` if the fields do not belong together, and what the service raises."""
        found = lookup.doc(caller.project, arguments.doc)
        # Locked, so that the text that is changed here is the newest.
        doc = (
            Doc.objects.for_project(caller.project).select_for_update(no_key=True).get(pk=found.pk)
        )
        fields: dict[str, Any] = {}
        if (text := _new_text(doc, arguments)) is not None:
            fields["text"] = text
        if arguments.title is not None:
            fields["title"] = arguments.title
        if not fields:
            raise Invalid("Nothing was changed: give old and new, append, text or title.")
        before = doc.version
        doc = docs.change(doc, by=caller.member, **fields)
        if doc.version == before:
            return f"{doc.title} is so already: nothing was changed."
        return f"Changed {doc.title}; it has version {doc.version} now."


def _new_text(doc: Doc, arguments: UpdateDoc.Arguments) -> str | None:
    """The text that the doc shall have; None if it stays as it is. Raises ``Invalid`` or ``Conflict``."""
    ways = (arguments.old, arguments.append, arguments.text)
    if sum(way is not None for way in ways) > 1:
        raise Invalid("Nothing was changed: give only one of old, append and text.")
    if arguments.old is not None:
        return _with_piece_replaced(doc, arguments.old, arguments.new)
    if arguments.append is not None:
        return f"{doc.text.rstrip()}\n\n{arguments.append}".lstrip()
    if arguments.text is not None:
        _require_version(doc, arguments.version)
    return arguments.text


def _with_piece_replaced(doc: Doc, old: str, new: str | None) -> str:
    if not old or new is None:
        raise Invalid("Nothing was changed: old and new are needed together; old is not empty.")
    count = doc.text.count(old)
    if count == 0:
        raise Conflict(
            "Nothing was changed: the doc does not contain old. Read it again and copy it exactly."
        )
    if count > 1:
        raise Conflict(
            f"Nothing was changed: old occurs {count} times. Add text around it until it occurs once."
        )
    return doc.text.replace(old, new)


def _require_version(doc: Doc, version: int | None) -> None:
    if version is None:
        raise Invalid(
            "Nothing was changed: to replace the whole text, name the version that you have read."
        )
    if version != doc.version:
        raise Conflict(
            f"Nothing was changed: the doc has version {doc.version}, last changed by"
            f" @{doc.updated_by.handle}. Read it again."
        )
