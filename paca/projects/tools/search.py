"""The tool that finds tasks, docs and comments by their words."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from paca.engine.tools.base import Effect, ToolArguments, ToolContext
from paca.engine.tools.formatting import to_one_line
from paca.projects import permissions, search
from paca.projects.models import SearchKind
from paca.projects.search import Hit
from paca.projects.tools import lookup
from paca.projects.tools.arguments import Name
from paca.projects.tools.base import Caller, ProjectTool

MAX_HITS = 50
KINDS = (SearchKind.TASK, SearchKind.DOC, SearchKind.COMMENT)


class SearchProject(ProjectTool["SearchProject.Arguments"]):
    """Find tasks, docs and comments that have all the words, the best first.

    A word also finds longer words that begin with it.
    """

    name = "search_project"
    effect = Effect.READ_ONLY
    permission = "projects:read"

    class Arguments(ToolArguments):
        words: Name = Field(
            min_length=1, description="The words to look for, or the key of a task."
        )
        kind: Literal["task", "doc", "comment"] | None = Field(
            default=None, description="Find only these."
        )
        limit: int = Field(default=20, ge=1, le=MAX_HITS, description="How many at most.")

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.words)

    def act_on(self, caller: Caller, arguments: Arguments, context: ToolContext) -> str:
        kinds = [arguments.kind] if arguments.kind else KINDS
        hits = search.find(
            caller.project,
            arguments.words,
            kinds,
            # A comment is found by those who may read what it is on.
            may=lambda permission: permissions.allows(caller.member, permission),
            limit=arguments.limit,
        )
        if not hits:
            return "Nothing has all these words. Try fewer, or other ones."
        return "\n".join(_line(hit, caller.project.prefix) for hit in hits)


def _line(hit: Hit, prefix: str) -> str:
    place = f"{prefix}-{hit.place}" if hit.about == SearchKind.TASK else f"doc {hit.place}"
    comment = (
        f"comment ({str(hit.object_id)[: lookup.SHORT_ID]}) on "
        if hit.kind == SearchKind.COMMENT
        else ""
    )
    words = "".join(piece.text for piece in hit.snippet).strip()
    return f"{comment}{place} {hit.title}{f': {words}' if words else ''}"
