"""The tool that lists a folder or finds files by name."""

from pydantic import Field

from paca.engine.tools.base import Effect, FilePath, Tool, ToolArguments, ToolContext, ToolOutput
from paca.engine.tools.formatting import (
    MAX_LISTED_ENTRIES,
    format_size,
    pluralize,
    to_one_line,
    truncate_middle,
)
from paca.engine.tools.globs import Glob, displayed_path, find_command, find_environment
from paca.engine.workspace import Command, FileInfo

# The script is constant. Text of the model comes in as parameters and is never read as shell.
LIST_SCRIPT = 'limit=$1; shift; "$@" 2>/dev/null | head -n "$limit"; exit 0'


class ListDirectory(Tool["ListDirectory.Arguments"]):
    """List a folder of the workspace: kinds and sizes. With `glob`, find files by name below it."""

    name = "list_directory"
    effect = Effect.READ_ONLY
    reattachable = True

    class Arguments(ToolArguments):
        path: FilePath = Field(default=".", description="The folder, relative to the workspace.")
        depth: int = Field(
            default=1, ge=1, le=8, description="How many levels down; 1 is the folder itself."
        )
        glob: Glob | None = Field(
            default=None,
            description="Only entries whose path matches, at any depth: *.py, src/**/test_*.py.",
        )

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        workspace = await context.workspace()
        if arguments.glob is None:
            entries = await workspace.list(
                arguments.path, depth=arguments.depth, limit=MAX_LISTED_ENTRIES + 1
            )
            return _to_output(entries, "The folder is empty.")
        info = await workspace.stat(arguments.path)
        find_arguments = (*find_command(info.path, arguments.glob), "-printf", r"%y\t%s\t%p\n")
        script = ("/bin/bash", "-c", LIST_SCRIPT, "list", str(MAX_LISTED_ENTRIES + 1))
        command = Command(
            context.call_id,
            argv=(*script, *find_arguments),
            timeout_seconds=self.timeout_seconds,
            env=find_environment(arguments.glob),
        )
        outcome = await workspace.run(command)
        return _to_output(_parse_entries(outcome.output), "No file or folder matches.")


def _parse_entries(printed: str) -> list[FileInfo]:
    kinds = {"f": "file", "d": "directory", "l": "link"}
    rows = (line.split("\t", 2) for line in printed.split("\n"))
    return [
        FileInfo(displayed_path(row[2]), kinds.get(row[0], "other"), int(row[1]), 0)  # type: ignore[arg-type]
        for row in rows
        if len(row) == 3 and row[1].isdecimal()
    ]


def _to_output(entries: list[FileInfo], empty_text: str) -> ToolOutput:
    if not entries:
        return ToolOutput(empty_text)
    kept = sorted(entries[:MAX_LISTED_ENTRIES], key=lambda entry: entry.path)
    more = len(entries) > MAX_LISTED_ENTRIES
    text, cut = truncate_middle("\n".join(_line(entry) for entry in kept))
    remark = pluralize(len(kept), "entry", "entries")
    if more:
        remark = f"the first {remark}; there are more: list a folder below, or give a glob"
    return ToolOutput(f"{text}\n[{remark}]", truncated=cut or more)


def _line(entry: FileInfo) -> str:
    name = to_one_line(entry.path) if "\n" in entry.path else entry.path
    if entry.kind == "file":
        return f"{name}  {format_size(entry.size)}"
    return f"{name}/" if entry.kind == "directory" else f"{name}  ({entry.kind})"
