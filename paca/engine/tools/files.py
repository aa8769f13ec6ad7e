"""The tools that read and change one file."""

import difflib
import hashlib
import posixpath

from pydantic import Field

from paca.engine.tools.base import (
    Effect,
    FilePath,
    Text,
    Tool,
    ToolArguments,
    ToolContext,
    ToolOutput,
)
from paca.engine.tools.shaping import (
    DIFF_BYTES,
    OUTPUT_BYTES,
    count,
    cut_line,
    head_and_tail,
    size_phrase,
)
from paca.engine.workspace import (
    FileChange,
    FileChanged,
    FileLines,
    NoSuchFile,
    NoSuchText,
    NotAFile,
    TextNotUnique,
    Workspace,
)

MAX_LINES = 2000
MAX_WRITE_CHARACTERS = 1_000_000


def plain(path: str) -> str:
    """One spelling for all spellings of a path inside; what is outside is for the runner to say."""
    inside = path.removeprefix("/workspace/") if path != "/workspace" else "."
    return posixpath.normpath(inside)


class ReadFile(Tool):
    """Read a text file, or some of its lines. Lines come with their numbers.

    Long files come in parts: the last line says where to go on. Of a binary file you get its
    kind and size.
    """

    name = "read_file"
    effect = Effect.READ_ONLY
    safe = True

    class Arguments(ToolArguments):
        path: FilePath = Field(description="The file, relative to the workspace.")
        first_line: int = Field(default=1, ge=1, description="The first line to show.")
        line_count: int = Field(
            default=MAX_LINES, ge=1, le=MAX_LINES, description="How many lines at most."
        )

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        workspace = await context.workspace()
        try:
            lines = await workspace.read_lines(
                arguments.path, first=arguments.first_line, count=arguments.line_count
            )
        except NoSuchFile:
            return await _missing(workspace, arguments.path)
        except NotAFile:
            return await _not_a_file(workspace, arguments.path)
        _remember(context, arguments.path, lines.path, lines.digest)
        return _numbered(lines, arguments.first_line)


class WriteFile(Tool):
    """Write a whole text file, replacing what is there. Missing folders are made.

    To change a part of a file use edit_file. A file that has changed since you read it is not
    overwritten.
    """

    name = "write_file"
    effect = Effect.IDEMPOTENT
    reattachable = True

    class Arguments(ToolArguments):
        path: FilePath = Field(description="The file, relative to the workspace.")
        content: Text = Field(
            max_length=MAX_WRITE_CHARACTERS, description="The whole new content of the file."
        )

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        workspace = await context.workspace()
        content = arguments.content.encode()
        try:
            change = await workspace.write(
                context.call_id,
                arguments.path,
                content,
                expected_digest=context.seen.get(plain(arguments.path)),
            )
        except FileChanged:
            # Done again by a new runner, the first time's own work is what "changed" the file.
            there = await workspace.read_lines(arguments.path, count=1)
            if there.digest != hashlib.sha256(content).hexdigest():
                return _changed(arguments.path)
            _remember(context, arguments.path, there.path, there.digest)
            return ToolOutput(f"{arguments.path} already has this content.")
        except NotAFile:
            return await _not_a_file(workspace, arguments.path)
        _remember(context, arguments.path, change.path, change.digest)
        verb = "Created" if change.created else "Replaced"
        size = f"{count(_lines_in(arguments.content), 'line')}, {size_phrase(len(content))}"
        return _changed_output(
            f"{verb} {change.path}: {size}.", "" if change.created else change.diff
        )


class EditFile(Tool):
    """Replace a piece of text in a file with another.

    `old` must be copied exactly from the file, with its blanks and without line numbers, and must
    occur exactly once: add lines around it until it does, or set `every` to replace all. A file
    that has changed since you read it is left alone: read it again.
    """

    name = "edit_file"
    effect = Effect.KEYED
    reattachable = True

    class Arguments(ToolArguments):
        path: FilePath = Field(description="The file, relative to the workspace.")
        old: Text = Field(
            min_length=1, max_length=MAX_WRITE_CHARACTERS, description="The text to replace."
        )
        new: Text = Field(
            max_length=MAX_WRITE_CHARACTERS,
            description="What stands there afterwards; may be empty.",
        )
        every: bool = Field(default=False, description="Replace each occurrence, not just one.")

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        if arguments.old == arguments.new:
            return ToolOutput("old and new are the same: nothing to change.", failed=True)
        workspace = await context.workspace()
        try:
            change = await self._replace(arguments, context, workspace)
        except FileChanged:
            return _changed(arguments.path)
        except NoSuchFile:
            return await _missing(workspace, arguments.path)
        except NotAFile:
            return await _not_a_file(workspace, arguments.path)
        except (NoSuchText, TextNotUnique) as error:
            lines = await _alike(workspace, arguments.path, arguments.old)
            return _not_found(arguments.path, error, lines)
        _remember(context, arguments.path, change.path, change.digest)
        return _changed_output(f"Edited {change.path}: {_amount(change)}.", change.diff)

    async def _replace(
        self, arguments: Arguments, context: ToolContext, workspace: Workspace
    ) -> FileChange:
        return await workspace.replace(
            context.call_id,
            arguments.path,
            arguments.old,
            arguments.new,
            every=arguments.every,
            expected_digest=context.seen.get(plain(arguments.path)),
        )


def _remember(context: ToolContext, asked: str, answered: str, digest: str) -> None:
    # The runner may spell a path through a link otherwise than the model does.
    context.seen[plain(asked)] = context.seen[answered] = digest


def _numbered(lines: FileLines, first_line: int) -> ToolOutput:
    """The lines that fit, each with its number, and what part of the file they are."""
    if lines.binary:
        size = size_phrase(lines.size)
        return ToolOutput(
            f"{lines.path} is binary ({lines.binary}, {size}); it is not shown as text."
        )
    if not lines.size:
        return ToolOutput(f"{lines.path} is empty.")
    if first_line > lines.total:
        only = count(lines.total, "line")
        return ToolOutput(
            f"{lines.path} has only {only}; there is no line {first_line:,}.", failed=True
        )
    rows, last = _rows(lines)
    text = "\n".join(rows)
    ends = "; lines end with CRLF" if "\r\n" in lines.text else ""
    if lines.first == 1 and last >= lines.total:
        remark = f"{count(lines.total, 'line')}, {size_phrase(lines.size)}{ends}"
        return ToolOutput(f"{text}\n[{remark}]")
    remark = f"lines {lines.first:,} to {last:,} of {lines.total:,}{ends}"
    if last < lines.total:
        remark += f"; go on with first_line={last + 1}"
    return ToolOutput(f"{text}\n[{remark}]", truncated=last < lines.total)


def _rows(lines: FileLines) -> tuple[list[str], int]:
    rows: list[str] = []
    room = OUTPUT_BYTES
    for number, line in enumerate(lines.text.removesuffix("\n").split("\n"), start=lines.first):
        row = f"{number:>6}\t{cut_line(line.removesuffix(chr(13)))}"
        room -= len(row.encode(errors="replace")) + 1
        if room < 0 and rows:
            break
        rows.append(row)
    return rows, lines.first + len(rows) - 1


def _changed(path: str) -> ToolOutput:
    text = (
        f"{path} has changed since you last read it, so nothing was written. Read it again first."
    )
    return ToolOutput(text, failed=True)


def _changed_output(sentence: str, diff: str) -> ToolOutput:
    shown, cut = head_and_tail(diff.rstrip("\n"), DIFF_BYTES)
    return ToolOutput(f"{sentence}\n{shown}" if shown else sentence, truncated=cut)


def _amount(change: FileChange) -> str:
    return f"{count(change.added, 'line')} added, {count(change.removed, 'line')} removed"


def _lines_in(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


async def _missing(workspace: Workspace, path: str) -> ToolOutput:
    """There is no such file; name those whose names are alike."""
    folder, name = posixpath.split(plain(path))
    try:
        beside = await workspace.list(folder or ".")
    except (NoSuchFile, NotAFile):
        return ToolOutput(
            f"There is no file {path}: its folder does not exist either.", failed=True
        )
    names = {posixpath.basename(entry.path): entry.path for entry in beside}
    alike = [names[close] for close in difflib.get_close_matches(name, names, n=3)]
    hint = f" Did you mean {' or '.join(alike)}?" if alike else ""
    return ToolOutput(f"There is no file {path}.{hint}", failed=True)


async def _not_a_file(workspace: Workspace, path: str) -> ToolOutput:
    kind = (await workspace.stat(path)).kind
    if kind == "directory":
        return ToolOutput(f"{path} is a folder. Use list_directory.", failed=True)
    return ToolOutput(f"{path} is no regular file (a pipe, socket or device).", failed=True)


async def _alike(workspace: Workspace, path: str, old: str) -> list[int]:
    """The numbers of the lines that hold the first line of ``old``, blanks aside."""
    wanted = "".join((old.strip().splitlines() or [""])[0].split())
    lines = await workspace.read_lines(path)
    return [
        number
        for number, line in enumerate(lines.text.split("\n"), start=lines.first)
        if wanted and wanted in "".join(line.split())
    ]


def _not_found(path: str, error: NoSuchText | TextNotUnique, alike: list[int]) -> ToolOutput:
    shown = ", ".join(map(str, alike[:8])) + (" and more" if len(alike) > 8 else "")
    if isinstance(error, TextNotUnique):
        hint = f" It begins at lines {shown}." if alike else ""
    elif alike:
        hint = f" Its first line is alike at line {shown}: compare blanks and what follows."
    else:
        hint = " Read the file and copy the text exactly, without the line numbers."
    return ToolOutput(f"Nothing was changed in {path}. {error.detail}{hint}", failed=True)
