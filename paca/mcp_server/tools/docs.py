"""Tools on docs."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, model_validator

from paca.mcp_server.call import Call
from paca.mcp_server.results import part_of, pick
from paca.mcp_server.tools.base import (
    Arguments,
    IdempotencyKey,
    McpTool,
    ProjectId,
    Text,
    UpdatedAt,
    given,
    page,
)
from paca.mcp_server.tools.projects import ListArguments

FIELDS = ("id", "title", "version", "folder", "updated_at")
HIGHEST_OFFSET = 10_000_000


class ListDocs(McpTool[ListArguments]):
    """List the docs of a project, without their texts."""

    name = "list_docs"
    arguments = ListArguments
    is_read_only = True

    async def act(self, arguments: ListArguments, call: Call) -> Any:
        answer = await call.rest.get(
            "projects",
            arguments.project,
            "docs",
            text="false",
            limit=arguments.limit,
            cursor=arguments.cursor,
        )
        return page(answer, [pick(each, *FIELDS) for each in answer["results"]])


class GetDocArguments(Arguments):
    """A doc, or a part of a long one."""

    project: ProjectId
    doc: UUID
    offset: Annotated[
        int, Field(ge=0, le=HIGHEST_OFFSET, description="In characters; next_offset goes on.")
    ] = 0
    limit: Annotated[int, Field(ge=1, le=40_000, description="In characters.")] = 20_000


class GetDoc(McpTool[GetDocArguments]):
    """Read a doc in Markdown, a long one in parts."""

    name = "get_doc"
    arguments = GetDocArguments
    is_read_only = True

    async def act(self, arguments: GetDocArguments, call: Call) -> Any:
        doc = await call.rest.get("projects", arguments.project, "docs", arguments.doc)
        part = part_of(doc["text"], arguments.offset, arguments.limit)
        return {**pick(doc, *FIELDS), **part}


class WriteDocArguments(Arguments):
    """A new doc, or a change of one."""

    project: ProjectId
    doc: Annotated[UUID | None, Field(description="The doc to change; none makes a new one.")] = (
        None
    )
    title: Annotated[Text, Field(min_length=1, max_length=200)] = ""
    text: Annotated[Text, Field(description="The whole text, in Markdown.")] = ""
    if_updated_at: Annotated[
        UpdatedAt,
        Field(description="The updated_at that you have read; needed to change the text of a doc."),
    ] = ""
    idempotency_key: IdempotencyKey = ""

    @model_validator(mode="after")
    def _complete(self) -> "WriteDocArguments":
        if self.doc is None and not self.title:
            raise ValueError("a new doc needs a title")
        # A whole text replaces what others have written since it was read; there is no merge.
        if self.doc is not None and "text" in self.model_fields_set and not self.if_updated_at:
            raise ValueError("if_updated_at is needed to change the text: take it from get_doc")
        if self.doc is not None and self.idempotency_key:
            raise ValueError("idempotency_key is for a new doc; a change takes if_updated_at")
        return self


class WriteDoc(McpTool[WriteDocArguments]):
    """Make a doc, or change the title or the whole text of one. Each change is a version of its own."""

    name = "write_doc"
    arguments = WriteDocArguments

    async def act(self, arguments: WriteDocArguments, call: Call) -> Any:
        fields = given(arguments, "project", "doc", "if_updated_at", "idempotency_key")
        place = ("projects", arguments.project, "docs")
        if arguments.doc is None:
            key = arguments.idempotency_key
            written = await call.rest.post(*place, body=fields, idempotency_key=key)
        else:
            written = await call.rest.patch(
                *place, arguments.doc, body=fields, if_match=arguments.if_updated_at
            )
        return pick(written, *FIELDS)


TOOLS: tuple[McpTool[Any], ...] = (ListDocs(), GetDoc(), WriteDoc())
