"""The tool that copies a file of a task into the sandbox."""

from __future__ import annotations

import hashlib

from pydantic import Field

from paca.common.errors import Invalid, NotFound
from paca.engine.tools.base import Effect, FilePath, ToolArguments, ToolContext, ToolOutput
from paca.engine.tools.formatting import format_size
from paca.engine.workspace import (
    FileChange,
    FileChanged,
    NoSuchFile,
    NotAFile,
    SandboxWorkspace,
)
from paca.projects.models import Attachment
from paca.projects.services import attachments
from paca.projects.tools import lookup, text
from paca.projects.tools.arguments import Name, TaskKey
from paca.projects.tools.base import REFUSALS, Caller, ConnectedTool, refusal

# One message to a sandbox holds no more.
MAX_BYTES = 16 << 20


class SaveAttachment(ConnectedTool["SaveAttachment.Arguments"]):
    """Copy an attachment of a task into your workspace, to use it there with your other tools."""

    name = "save_attachment"
    effect = Effect.IDEMPOTENT
    permission = "tasks:read"
    uses_workspace = True
    reattachable = True
    timeout_seconds = 60

    class Arguments(ToolArguments):
        task: TaskKey
        attachment: Name = Field(description="The name of the attachment, as read_task shows it.")
        path: FilePath | None = Field(
            default=None, description="Where to save it; by default in the folder attachments."
        )

    def subject(self, arguments: Arguments) -> str:
        return f"{arguments.attachment} of {text.task_subject(arguments.task)}"[:120]

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        try:
            name, data = await self.connected.read(
                self.permission, lambda caller: _read(caller, arguments)
            )
        except REFUSALS as error:
            return refusal(error)
        path = arguments.path or f"attachments/{name}"
        workspace = await context.workspace()
        try:
            change = await _write(workspace, context.call_id, path, data)
        except FileChanged:
            return ToolOutput(f"There is another file at {path}. Name another path.", failed=True)
        except NotAFile:
            return ToolOutput(f"{path} is not a file. Name another path.", failed=True)
        return ToolOutput(f"Saved {name} ({format_size(len(data))}) as {change.path}.")


async def _write(workspace: SandboxWorkspace, call_id: str, path: str, data: bytes) -> FileChange:
    """Write a new file. Raises ``FileChanged`` if there is one with another content."""
    expected: str | None = hashlib.sha256(data).hexdigest()
    try:
        await workspace.stat(path)
    except NoSuchFile:
        expected = None
    return await workspace.write(call_id, path, data, expected_digest=expected)


def _read(caller: Caller, arguments: SaveAttachment.Arguments) -> tuple[str, bytes]:
    """Name and bytes of the attachment. Raises ``NotFound`` or ``Invalid``."""
    task = lookup.task(caller.project, arguments.task)
    found = task.attachments.filter(name=arguments.attachment).order_by("-created_at").first()
    if found is None:
        known = ", ".join(task.attachments.values_list("name", flat=True)[: lookup.MAX_NAMED])
        raise NotFound(
            f"{task.key} has no attachment {arguments.attachment!r}. "
            + (f"It has: {known}." if known else "It has none.")
        )
    _require_size(found)
    return found.name, b"".join(attachments.read(found))


def _require_size(found: Attachment) -> None:
    if found.size_bytes > MAX_BYTES:
        raise Invalid(
            f"{found.name} has {format_size(found.size_bytes)}; only files of up to"
            f" {format_size(MAX_BYTES)} can be copied into a workspace."
        )
