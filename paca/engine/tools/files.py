"""The tool that reads a file, and what all tools for files share: spellings, digests, refusals."""

import difflib
import posixpath

from pydantic import Field

from paca.engine.tools.base import (
    Effect,
    FilePath,
    Tool,
    ToolArguments,
    ToolContext,
    ToolOutput,
)
from paca.engine.tools.shaping import OUTPUT_BYTES, count, cut_line, size_phrase
from paca.engine.workspace import FileLines, NoSuchFile, NotAFile, SandboxWorkspace

MAX_LINES = 2000


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
            return await missing(workspace, arguments.path)
        except NotAFile as error:
            return await not_a_file(workspace, arguments.path, error)
        remember(context, arguments.path, lines.path, lines.digest)
        return _numbered(lines, arguments.first_line)


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


def remember(context: ToolContext, asked: str, answered: str, digest: str) -> None:
    """Note what the model now knows of a file, so that a change behind its back is noticed."""
    if not digest:  # a file too large to be digested
        return
    # The runner may spell a path through a link otherwise than the model does.
    context.seen[plain(asked)] = context.seen[answered] = digest


async def missing(workspace: SandboxWorkspace, path: str) -> ToolOutput:
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


async def not_a_file(workspace: SandboxWorkspace, path: str, error: NotAFile) -> ToolOutput:
    """The path is something else than a file; say what, and what to use."""
    if (await workspace.stat(path)).kind == "directory":
        return ToolOutput(f"{path} is a folder. Use list_directory.", failed=True)
    return ToolOutput(f"{path}: {error.detail}", failed=True)
