"""The tool that reads a file, and helpers of all file tools: paths, digests and failed outputs."""

import difflib
import posixpath

from pydantic import Field

from paca.common.text import to_utf8
from paca.engine.tools.base import (
    Effect,
    FilePath,
    Tool,
    ToolArguments,
    ToolContext,
    ToolImage,
    ToolOutput,
)
from paca.engine.tools.formatting import MAX_OUTPUT_BYTES, format_size, pluralize, truncate_line
from paca.engine.workspace import FileChange, FileLines, NoSuchFile, NotAFile, SandboxWorkspace

MAX_LINES = 2000
# Providers take images of these types, of up to 5 MB in base64.
IMAGE_TYPES = {
    "PNG image": "image/png",
    "JPEG image": "image/jpeg",
    "GIF image": "image/gif",
    "WebP image": "image/webp",
}
MAX_IMAGE_BYTES = 3_500_000
PIECE_BYTES = 1 << 20


def normalize_path(path: str) -> str:
    """The path relative to the workspace, in one spelling. The runner refuses paths outside of it."""
    inside = path.removeprefix("/workspace/") if path != "/workspace" else "."
    return posixpath.normpath(inside)


class ReadFile(Tool["ReadFile.Arguments"]):
    """Read a text file, or some of its lines. Lines come with their numbers.

    Long files come in parts: the last line says where to go on. An image is shown to you, if
    you can see. Of another binary file you get its kind and size.
    """

    name = "read_file"
    effect = Effect.READ_ONLY

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
            return await no_such_file_output(workspace, arguments.path)
        except NotAFile as error:
            return await not_a_file_output(workspace, arguments.path, error)
        record_digest(context, arguments.path, lines.path, lines.digest)
        if lines.binary in IMAGE_TYPES and lines.size <= MAX_IMAGE_BYTES:
            return await _image(workspace, lines)
        return _numbered(lines, arguments.first_line)


async def _image(workspace: SandboxWorkspace, lines: FileLines) -> ToolOutput:
    """The image with a line that names it, which is all that a model gets that cannot see."""
    data = bytearray()
    while len(data) < min(lines.size, MAX_IMAGE_BYTES):
        piece = await workspace.read(lines.path, offset=len(data), limit=PIECE_BYTES)
        if not piece:
            break
        data += piece
    size = format_size(lines.size)
    return ToolOutput(
        f"{lines.path}: {lines.binary}, {size}",
        images=(ToolImage(IMAGE_TYPES[lines.binary], bytes(data[:MAX_IMAGE_BYTES])),),
    )


def _numbered(lines: FileLines, first_line: int) -> ToolOutput:
    """The lines that fit into the output, each with its number, and a remark on what part they are."""
    if lines.binary:
        size = format_size(lines.size)
        return ToolOutput(
            f"{lines.path} is binary ({lines.binary}, {size}); it is not shown as text."
        )
    if not lines.size:
        return ToolOutput(f"{lines.path} is empty.")
    if first_line > lines.total:
        only = pluralize(lines.total, "line")
        return ToolOutput(
            f"{lines.path} has only {only}; there is no line {first_line:,}.", failed=True
        )
    rows, last = _rows(lines)
    text = "\n".join(rows)
    form = "".join(f"; {part}" for part in form_parts(lines))
    if lines.first == 1 and last >= lines.total:
        remark = f"{pluralize(lines.total, 'line')}, {format_size(lines.size)}{form}"
        return ToolOutput(f"{text}\n[{remark}]")
    remark = f"lines {lines.first:,} to {last:,} of {lines.total:,}{form}"
    if last < lines.total:
        remark += f"; go on with first_line={last + 1}"
    return ToolOutput(f"{text}\n[{remark}]", truncated=last < lines.total)


def form_parts(file: FileLines | FileChange) -> list[str]:
    """What the model must know of the stored form of a text; nothing if it is UTF-8 with LF."""
    ends = "CRLF or LF" if file.line_ends == "mixed" else file.line_ends
    parts = [
        f"encoding {file.encoding}" if file.encoding else "",
        f"lines end with {ends}" if ends else "",
    ]
    return [part for part in parts if part]


def _rows(lines: FileLines) -> tuple[list[str], int]:
    """The numbered lines that fit into an output, and the number of the last one."""
    rows: list[str] = []
    bytes_left = MAX_OUTPUT_BYTES
    for number, line in enumerate(lines.text.removesuffix("\n").split("\n"), start=lines.first):
        row = f"{number:>6}\t{truncate_line(line.removesuffix(chr(13)))}"
        bytes_left -= len(to_utf8(row)) + 1
        if bytes_left < 0 and rows:
            break
        rows.append(row)
    return rows, lines.first + len(rows) - 1


def record_digest(context: ToolContext, requested: str, reported: str, digest: str) -> None:
    """Record which content of the file the model has seen, so that a later write notices changes.

    ``requested`` is the path that the model gave, ``reported`` the one that the runner answered with.
    """
    if not digest:  # the runner gives none for a very large file
        return
    # The two paths differ where the model goes through a symbolic link.
    context.seen_files[normalize_path(requested)] = digest
    context.seen_files[reported] = digest


async def no_such_file_output(workspace: SandboxWorkspace, path: str) -> ToolOutput:
    """The failed output for a missing file. It names files with similar names."""
    folder, name = posixpath.split(normalize_path(path))
    try:
        entries = await workspace.list(folder or ".")
    except (NoSuchFile, NotAFile):
        return ToolOutput(
            f"There is no file {path}: its folder does not exist either.", failed=True
        )
    names = {posixpath.basename(entry.path): entry.path for entry in entries}
    alike = [names[close] for close in difflib.get_close_matches(name, names, n=3)]
    hint = f" Did you mean {' or '.join(alike)}?" if alike else ""
    return ToolOutput(f"There is no file {path}.{hint}", failed=True)


async def not_a_file_output(workspace: SandboxWorkspace, path: str, error: NotAFile) -> ToolOutput:
    """The failed output for a path that is not a regular file. It names the tool for folders."""
    if (await workspace.stat(path)).kind == "directory":
        return ToolOutput(f"{path} is a folder. Use list_directory.", failed=True)
    return ToolOutput(f"{path}: {error.detail}", failed=True)
