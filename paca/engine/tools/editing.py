"""The tools that write a whole file or edit a part of it."""

from pydantic import Field

from paca.common.secret_removal import MASK, SecretMask
from paca.engine.tools.base import (
    Effect,
    EncodableText,
    FilePath,
    Tool,
    ToolArguments,
    ToolContext,
    ToolOutput,
)
from paca.engine.tools.files import (
    form_parts,
    no_such_file_output,
    normalize_path,
    not_a_file_output,
    record_digest,
)
from paca.engine.tools.formatting import MAX_DIFF_BYTES, format_size, pluralize, truncate_middle
from paca.engine.workspace import (
    FileChange,
    FileChanged,
    NoSuchFile,
    NoSuchText,
    NotAFile,
    SandboxWorkspace,
    TextNotUnique,
)

MAX_WRITE_CHARACTERS = 1_000_000
HIDDEN = (
    f"holds secret values, which you read as {MASK}: to write that would destroy them. "
    "Change other lines with edit_file, which keeps them."
)


class WriteFile(Tool["WriteFile.Arguments"]):
    """Write a whole text file, replacing what is there. Missing folders are made.

    A text file that is replaced keeps its encoding and line ends. To change a part of a file use
    edit_file. A file that has changed since you read it is not overwritten.
    """

    name = "write_file"
    effect = Effect.IDEMPOTENT
    reattachable = True

    class Arguments(ToolArguments):
        path: FilePath = Field(description="The file, relative to the workspace.")
        content: EncodableText = Field(
            max_length=MAX_WRITE_CHARACTERS, description="The whole new content of the file."
        )

    def diff(self, arguments: Arguments) -> str:
        return _described_change(arguments.path, "", arguments.content)

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        workspace = await context.workspace()
        content = arguments.content.encode()
        # guard: masks-are-not-written-over-secrets
        if await _would_lose_a_secret(workspace, arguments, context.mask):
            return ToolOutput(f"Nothing was written. {arguments.path} {HIDDEN}", failed=True)
        try:
            change = await self._write(arguments, context, workspace, content)
        except FileChanged:
            return _file_changed_output(arguments.path)
        except NotAFile as error:
            return await not_a_file_output(workspace, arguments.path, error)
        record_digest(context, arguments.path, change.path, change.digest)
        if not change.changed:
            return ToolOutput(f"{change.path} already has this content.")
        verb = "Created" if change.created else "Replaced"
        size = pluralize(_lines_in(arguments.content), "line")
        if not change.encoding:
            size += f", {format_size(len(content))}"
        return _change_output(
            f"{verb} {change.path}: {size}{_kept_form(change)}.",
            "" if change.created else change.diff,
        )

    async def _write(
        self,
        arguments: Arguments,
        context: ToolContext,
        workspace: SandboxWorkspace,
        content: bytes,
    ) -> FileChange:
        known = context.seen_files.get(normalize_path(arguments.path))
        if known is not None:
            try:
                await workspace.stat(arguments.path)
            except NoSuchFile:
                # The file was deleted since it was read, so nothing can be overwritten.
                known = None
        return await workspace.write(
            context.call_id, arguments.path, content, expected_digest=known, keep_form=True
        )


class EditFile(Tool["EditFile.Arguments"]):
    """Replace a piece of text in a file with another.

    `old` must be copied exactly from the file, with its blanks and without line numbers, and must
    occur exactly once: add lines around it until it does, or set `every` to replace all. The file
    keeps its encoding and line ends. If it has changed since you read it, it is left alone: read
    it again.
    """

    name = "edit_file"
    effect = Effect.KEYED
    reattachable = True

    class Arguments(ToolArguments):
        path: FilePath = Field(description="The file, relative to the workspace.")
        old: EncodableText = Field(
            min_length=1, max_length=MAX_WRITE_CHARACTERS, description="The text to replace."
        )
        new: EncodableText = Field(
            max_length=MAX_WRITE_CHARACTERS,
            description="The replacement; may be empty.",
        )
        every: bool = Field(default=False, description="Replace each occurrence, not just one.")

    def diff(self, arguments: Arguments) -> str:
        return _described_change(arguments.path, arguments.old, arguments.new)

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        if arguments.old == arguments.new:
            return ToolOutput("old and new are the same: nothing to change.", failed=True)
        workspace = await context.workspace()
        try:
            change = await self._replace(arguments, context, workspace)
        except FileChanged:
            return _file_changed_output(arguments.path)
        except NoSuchFile:
            return await no_such_file_output(workspace, arguments.path)
        except NotAFile as error:
            return await not_a_file_output(workspace, arguments.path, error)
        except (NoSuchText, TextNotUnique) as error:
            lines = await _similar_lines(workspace, arguments.path, arguments.old)
            return _not_replaced(arguments, error, lines)
        record_digest(context, arguments.path, change.path, change.digest)
        sentence = f"Edited {change.path}: {_line_counts(change)}{_kept_form(change)}."
        return _change_output(sentence, change.diff)

    async def _replace(
        self, arguments: Arguments, context: ToolContext, workspace: SandboxWorkspace
    ) -> FileChange:
        return await workspace.replace(
            context.call_id,
            arguments.path,
            arguments.old,
            arguments.new,
            every=arguments.every,
            expected_digest=context.seen_files.get(normalize_path(arguments.path)),
        )


async def _would_lose_a_secret(
    workspace: SandboxWorkspace, arguments: WriteFile.Arguments, mask: SecretMask
) -> bool:
    """Whether the content has masks where the file has secrets. The model has read those as masks and cannot write them."""
    if MASK not in arguments.content or not mask:
        return False
    try:
        present = (await workspace.read(arguments.path)).decode("utf-8", "replace")
    except (NoSuchFile, NotAFile):
        return False
    has_secret = mask.text(present) != present
    return has_secret and arguments.content.count(MASK) > present.count(MASK)


def _described_change(path: str, old: str, new: str) -> str:
    """The lines that a call takes away and adds, for people who decide on it before it runs."""
    removed = [f"-{line}" for line in old.splitlines()]
    return "\n".join([path, *removed, *(f"+{line}" for line in new.splitlines())])


def _file_changed_output(path: str) -> ToolOutput:
    text = (
        f"{path} has changed since you last read it, so nothing was written. Read it again first."
    )
    return ToolOutput(text, failed=True)


def _change_output(sentence: str, diff: str) -> ToolOutput:
    shown, cut = truncate_middle(diff.rstrip("\n"), MAX_DIFF_BYTES)
    return ToolOutput(f"{sentence}\n{shown}" if shown else sentence, truncated=cut)


def _kept_form(change: FileChange) -> str:
    parts = [] if change.created else form_parts(change)
    return f" (kept: {', '.join(parts)})" if parts else ""


def _line_counts(change: FileChange) -> str:
    return f"{pluralize(change.added, 'line')} added, {pluralize(change.removed, 'line')} removed"


def _lines_in(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


async def _similar_lines(workspace: SandboxWorkspace, path: str, old: str) -> list[int]:
    """The numbers of the lines that contain the first line of ``old``, not counting white space."""
    wanted = "".join((old.strip().splitlines() or [""])[0].split())
    lines = await workspace.read_lines(path)
    return [
        number
        for number, line in enumerate(lines.text.split("\n"), start=lines.first)
        if wanted and wanted in "".join(line.split())
    ]


def _not_replaced(
    arguments: EditFile.Arguments, error: NoSuchText | TextNotUnique, similar: list[int]
) -> ToolOutput:
    path, old = arguments.path, arguments.old
    shown = ", ".join(map(str, similar[:8])) + (" and more" if len(similar) > 8 else "")
    if isinstance(error, TextNotUnique):
        hint = f" It begins at lines {shown}." if similar else ""
    elif similar:
        hint = f" A similar first line is at line {shown}: compare the white space."
    else:
        hint = " Read the file and copy the text exactly, without the line numbers."
    if MASK in old:
        hint += f" If {MASK} stands for a secret value there, leave it out of old and new."
    return ToolOutput(f"Nothing was changed in {path}. {error.detail}{hint}", failed=True)
