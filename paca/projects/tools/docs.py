"""The tools that list and read docs."""

from __future__ import annotations

from pydantic import Field

from paca.engine.tools.base import Effect, ToolArguments, ToolContext
from paca.engine.tools.formatting import to_one_line
from paca.projects.models import Doc, Project
from paca.projects.tools import comments, lookup, text
from paca.projects.tools.arguments import Name
from paca.projects.tools.base import Caller, ProjectTool

MAX_DOCS = 100
MAX_LINES = 2000
MAX_DEPTH = 50
# The share of a tool's output, in bytes.
TEXT_BYTES = 19_000


class ListDocs(ProjectTool["ListDocs.Arguments"]):
    """List the docs of the project by folder, with their ids. Use search_project to find words in docs."""

    name = "list_docs"
    effect = Effect.READ_ONLY
    permission = "docs:read"

    class Arguments(ToolArguments):
        folder: Name | None = Field(
            default=None, description="The path of a folder, such as Guides/Setup."
        )
        after: Name | None = Field(
            default=None, description="The id of a doc, to go on with a list behind it."
        )

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.folder or "")

    def act_on(self, caller: Caller, arguments: Arguments, context: ToolContext) -> str:
        paths = folder_paths(caller.project)
        docs = Doc.objects.for_project(caller.project).defer("text")
        if arguments.folder:
            folder = lookup.folder(caller.project, arguments.folder)
            top = paths[folder.pk] if folder else ""
            docs = docs.filter(
                folder__in=[pk for pk, path in paths.items() if f"{path}/".startswith(f"{top}/")]
            )
        if arguments.after:
            docs = docs.filter(pk__gt=lookup.doc(caller.project, arguments.after).pk)
        rows = list(docs.order_by("pk")[: MAX_DOCS + 1])
        lines = sorted(_line(doc, paths) for doc in rows[:MAX_DOCS])
        if len(rows) > MAX_DOCS:
            lines.append(f"[more; go on with after={rows[MAX_DOCS - 1].pk}]")
        return "\n".join(lines) or "There are no docs here."


class ReadDoc(ProjectTool["ReadDoc.Arguments"]):
    """Read a doc, or some of its lines, and its newest comments. A long doc comes in parts.

    Its version is needed to replace the text with update_doc.
    """

    name = "read_doc"
    effect = Effect.READ_ONLY
    permission = "docs:read"

    class Arguments(ToolArguments):
        doc: Name = Field(description="The id or title of the doc.")
        first_line: int = Field(default=1, ge=1, description="The line to begin with.")
        line_count: int = Field(
            default=MAX_LINES, ge=1, le=MAX_LINES, description="How many lines at most."
        )
        before_comment: Name | None = Field(
            default=None, description="The id of a comment, to read those before it."
        )
        comment: Name | None = Field(
            default=None, description="The id of a comment, to read it whole."
        )

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.doc)

    def act_on(self, caller: Caller, arguments: Arguments, context: ToolContext) -> str:
        doc = lookup.doc(caller.project, arguments.doc)
        if arguments.comment is not None:
            return comments.whole(doc, arguments.comment, first_line=arguments.first_line)
        told = comments.newest(doc, before=arguments.before_comment)
        if arguments.before_comment is not None:
            return told or "There are no older comments."
        lines = text.numbered_lines(
            doc.text, first=arguments.first_line, count=arguments.line_count, limit=TEXT_BYTES
        )
        parts = [f"{_line(doc, folder_paths(caller.project))}\nVersion: {doc.version}", lines]
        parts += [f"Comments:\n{told}"] if told else []
        return "\n\n".join(parts)


def folder_paths(project: Project) -> dict[object, str]:
    """The path of each folder of docs by its id, such as ``Guides/Setup``."""
    folders = {folder.pk: folder for folder in project.doc_folders.all()}
    paths: dict[object, str] = {}
    for pk, folder in folders.items():
        names = [folder.name]
        while folder.parent_id in folders and len(names) < MAX_DEPTH:
            folder = folders[folder.parent_id]
            names.append(folder.name)
        paths[pk] = "/".join(reversed(names))
    return paths


def _line(doc: Doc, paths: dict[object, str]) -> str:
    folder = f"{paths[doc.folder_id]}/" if doc.folder_id in paths else ""
    return f"{folder}{doc.title} (id {doc.pk}, changed {text.moment(doc.updated_at)})"
