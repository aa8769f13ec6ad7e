"""The tool that searches lines in files, with ripgrep if the sandbox has it, else with grep."""

from typing import Annotated

from pydantic import AfterValidator, Field

from paca.engine.tools.base import (
    Effect,
    FilePath,
    NonEmptyText,
    Tool,
    ToolArguments,
    ToolContext,
    ToolOutput,
)
from paca.engine.tools.formatting import (
    MAX_MATCH_BYTES,
    format_seconds,
    pluralize,
    strip_terminal_codes,
    to_one_line,
    truncate_middle,
)
from paca.engine.tools.globs import (
    TEXT_LOCALE,
    Glob,
    as_argument,
    displayed_path,
    find_command,
    find_environment,
    skipped_folders,
    unicode_forms,
)
from paca.engine.workspace import Command, CommandOutcome

BAD_PATTERN_EXIT_CODE = 2

# The script is constant. Text of the model comes in as parameters and is never read as shell. The
# parameters hold two commands: the first runs if ripgrep is installed, else the second. The
# pattern is tried on empty input first, to tell an invalid pattern from one without matches.
SEARCH_SCRIPT = r"""
limit=$1 width=$2 pattern=$3 length=$4; shift 4
if command -v rg >/dev/null 2>&1
then set -- "${@:1:length}"; try=(rg --no-config --color=never)
else set -- "${@:length+1}"; try=(grep -P)
fi
problem=$(printf '' | "${try[@]}" -e "$pattern" 2>&1)
if [ $? -gt 1 ]; then printf '%s\n' "$problem"; exit 2; fi
"$@" 2>/dev/null | cut -b "1-$width" | head -n "$limit"
exit 0
"""

# grep leaves out files with NUL only: with -I in a UTF-8 locale it would also leave out lines of files in
# other encodings. The parameters are the number of its options, these options, and the files.
GREP_SCRIPT = r"""
options=("${@:2:$1}"); shift "$(($1 + 1))"
LC_ALL=C grep -lIZ -e '' -- "$@" | xargs -0r grep -anHP "${options[@]}" --
"""


def _one_line(pattern: str) -> str:
    if "\n" in pattern:
        raise ValueError("text without line breaks, since the search goes line by line")
    return pattern


Pattern = Annotated[NonEmptyText, AfterValidator(_one_line)]


class SearchFiles(Tool["SearchFiles.Arguments"]):
    """Find the lines that match a regular expression in the files of the workspace.

    Gives path, line number and line of each match. Binary files, .git, node_modules, .venv and
    caches are left out, unless `path` is inside them.
    """

    name = "search_files"
    effect = Effect.READ_ONLY
    reattachable = True

    class Arguments(ToolArguments):
        pattern: Pattern = Field(
            max_length=2000,
            description="A regular expression (Perl style); escape ( ) [ ] { } . * + ? to find them.",
        )
        path: FilePath = Field(default=".", description="The file or folder to search.")
        glob: Glob | None = Field(
            default=None,
            description="Only files whose path matches: *.py anywhere, src/**/*.{ts,tsx} below src.",
        )
        ignore_case: bool = Field(default=False, description="Take a and A for the same.")
        limit: int = Field(default=100, ge=1, le=1000, description="How many matches at most.")

    def subject(self, arguments: Arguments) -> str:
        where = "" if arguments.path == "." else f" in {arguments.path}"
        return to_one_line(f"{arguments.pattern}{where}")

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        workspace = await context.workspace()
        info = await workspace.stat(arguments.path)
        command = Command(
            context.call_id,
            argv=_search_command(arguments, info.path),
            timeout_seconds=self.timeout_seconds,
            env=find_environment(arguments.glob),
        )
        return _to_output(await workspace.run(command), arguments, self.timeout_seconds)


def _search_command(arguments: SearchFiles.Arguments, path: str) -> tuple[str, ...]:
    ripgrep = (
        *("rg", "--no-config", "--no-ignore", "--hidden", "--no-messages", "--sort=path"),
        *("--line-number", "--with-filename", "--no-heading", "--color=never"),
        *(["--ignore-case"] if arguments.ignore_case else []),
        *(f"--glob={glob}" for glob in unicode_forms(arguments.glob or "") if glob),
        *(f"--glob=!{name}" for name in skipped_folders(path)),
        *("-e", arguments.pattern, "--", as_argument(path)),
    )
    # find is used since grep's --include knows no folders and no braces. With -P grep reads the
    # dialect closest to ripgrep's, in which \d is a digit.
    options = (*(["-i"] if arguments.ignore_case else []), "-e", arguments.pattern)
    grep = (
        *find_command(path, arguments.glob),
        *("-type", "f", "-exec", "env", TEXT_LOCALE, "/bin/bash", "-c", GREP_SCRIPT, "grep"),
        *(str(len(options)), *options, "{}", "+"),
    )
    head = (str(arguments.limit + 1), str(MAX_MATCH_BYTES), arguments.pattern, str(len(ripgrep)))
    return ("/bin/bash", "-c", SEARCH_SCRIPT, "search", *head, *ripgrep, *grep)


def _to_output(
    outcome: CommandOutcome, arguments: SearchFiles.Arguments, time_limit_seconds: float
) -> ToolOutput:
    lines = strip_terminal_codes(outcome.output).strip("\n").split("\n")
    if outcome.exit_code and not outcome.cause:
        known = outcome.exit_code == BAD_PATTERN_EXIT_CODE
        problem = "The pattern is no regular expression" if known else "The search did not run"
        return ToolOutput("\n".join([f"{problem}:", *lines[:8]]), failed=True)
    matches = [_match_line(line) for line in lines if line]
    if not matches and not outcome.cause:
        return ToolOutput("Nothing matches.")
    text, cut = truncate_middle("\n".join(matches[: arguments.limit]))
    more = outcome.truncated or len(matches) > arguments.limit
    return ToolOutput(
        f"{text}\n[{_remark(len(matches), more, outcome, arguments, time_limit_seconds)}]".lstrip(
            "\n"
        ),
        failed=bool(outcome.cause),
        truncated=cut or more,
        cause=outcome.cause,
    )


def _remark(
    found: int,
    more: bool,
    outcome: CommandOutcome,
    arguments: SearchFiles.Arguments,
    time_limit_seconds: float,
) -> str:
    remark = pluralize(min(found, arguments.limit), "match", "matches")
    if outcome.cause:
        ended = (
            f"the search ended early ({outcome.cause}, limit {format_seconds(time_limit_seconds)})"
        )
        return f"{remark}; {ended}: narrow it with path or glob"
    if outcome.truncated:
        return "more matches than can be shown: narrow it with path, glob or the pattern"
    if more:
        return f"the first {remark}; there are more: narrow it with path, glob or the pattern"
    return remark


def _match_line(line: str) -> str:
    """One match as the model reads it. The script has cut longer lines at ``MAX_MATCH_BYTES``."""
    whole = len(line.encode()) < MAX_MATCH_BYTES
    return displayed_path(line) if whole else f"{displayed_path(line)} [... line cut]"
