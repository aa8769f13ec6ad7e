"""The tools that read a git repository. They run nothing that the repository configures."""

from abc import abstractmethod
from typing import TypeVar

from pydantic import Field

from paca.engine.tools.base import Effect, FilePath, Tool, ToolArguments, ToolContext, ToolOutput
from paca.engine.tools.command_output import command_output
from paca.engine.tools.formatting import to_one_line
from paca.engine.workspace import Command, CommandOutcome

# A repository may come from anybody, and can name hooks, monitors, pagers, filters and signature programs.
# Reading it must run none of them. Each command switches diff drivers and submodules off by its own options.
SAFE_OPTIONS = (
    "--no-pager",
    "--no-optional-locks",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "core.quotePath=false",
    "-c", "color.ui=false",
    "-c", "diff.submodule=short",
    "-c", "status.submoduleSummary=false",
    "-c", "log.showSignature=false",
    "-c", "safe.directory=*",
)  # fmt: skip
# Git would run the programs of the submodules' own configuration to look for changes in them.
NO_SUBMODULE_FILES = "--ignore-submodules=dirty"
ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "LC_ALL": "C.UTF-8",
    # No object is fetched that a partial clone lacks: a configured address may be a command.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
}
# Any name in .gitattributes selects a filter, so only emptying each configured filter switches all off.
WITHOUT_FILTERS = r"""
export GIT_CONFIG_COUNT=0
while IFS= read -r -d "" key; do
  case $key in filter.*)
    export "GIT_CONFIG_KEY_$GIT_CONFIG_COUNT=$key" "GIT_CONFIG_VALUE_$GIT_CONFIG_COUNT="
    GIT_CONFIG_COUNT=$((GIT_CONFIG_COUNT + 1)) ;;
  esac
done < <(git -c safe.directory="*" config --null --name-only --list 2>/dev/null)
exec git "$@"
"""
# Compared in lower case: `git diff` writes a capital, and exits with another code than the others.
NOT_A_REPOSITORY = "not a git repository"

# A revision that begins with a dash would be read as an option.
REVISION = r"^[^-\s][^\s]*$"


class RepositoryArguments(ToolArguments):
    """The arguments that all tools for a repository have."""

    repository: FilePath = Field(
        default=".", description="A folder of the repository, relative to the workspace."
    )


RepositoryArgumentsT = TypeVar("RepositoryArgumentsT", bound=RepositoryArguments)


class GitTool(Tool[RepositoryArgumentsT]):
    """Base of the tools that look at a repository. ``empty_text`` replaces an empty output."""

    effect = Effect.READ_ONLY
    reattachable = True
    empty_text = "(no output)"

    @abstractmethod
    def git_arguments(self, arguments: RepositoryArgumentsT) -> tuple[str, ...]:
        """The subcommand of git with its options."""

    def subject(self, arguments: RepositoryArgumentsT) -> str:
        return to_one_line(" ".join(self.git_arguments(arguments)[:1] + (arguments.repository,)))

    async def act(self, arguments: RepositoryArgumentsT, context: ToolContext) -> ToolOutput:
        command = Command(
            context.call_id,
            argv=(
                *("/bin/bash", "-c", WITHOUT_FILTERS, "git"),
                *(*SAFE_OPTIONS, *self.git_arguments(arguments)),
            ),
            cwd=arguments.repository,
            timeout_seconds=self.timeout_seconds,
            env=ENVIRONMENT,
        )
        outcome = await (await context.workspace()).run(command)
        return self._to_output(outcome, arguments, context)

    def _to_output(
        self, outcome: CommandOutcome, arguments: RepositoryArgumentsT, context: ToolContext
    ) -> ToolOutput:
        if outcome.exit_code != 0 and NOT_A_REPOSITORY in outcome.output.lower():
            text = f"The folder {arguments.repository} is in no git repository."
            return ToolOutput(text, failed=True, exit_code=outcome.exit_code)
        limit = self.timeout_seconds
        return command_output(
            outcome, context, time_limit_seconds=limit, empty_text=self.empty_text
        )


class GitStatus(GitTool["GitStatus.Arguments"]):
    """Show the branch and which files are changed, staged or untracked in a git repository."""

    name = "git_status"

    class Arguments(RepositoryArguments):
        pass

    def git_arguments(self, arguments: Arguments) -> tuple[str, ...]:
        return ("status", "--branch", "--short", NO_SUBMODULE_FILES)

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        status = await super().act(arguments, context)
        if status.failed or "\n" in status.output:
            return status
        return ToolOutput(f"{status.output}\nNothing is changed.", exit_code=0)


class GitDiff(GitTool["GitDiff.Arguments"]):
    """Show what changed in a git repository, as a unified diff.

    Without options: the working tree against the index. Untracked files are not in it.
    """

    name = "git_diff"
    empty_text = "There are no differences."

    class Arguments(RepositoryArguments):
        staged: bool = Field(default=False, description="Compare the index with the last commit.")
        revision: str | None = Field(
            default=None,
            pattern=REVISION,
            max_length=200,
            description="Compare with this commit, branch or range (main, HEAD~2, main...HEAD).",
        )
        path: FilePath | None = Field(
            default=None, description="Only this file or folder, relative to the repository folder."
        )

    def git_arguments(self, arguments: Arguments) -> tuple[str, ...]:
        words = ["diff", "--no-ext-diff", "--no-textconv", NO_SUBMODULE_FILES]
        words += ["--cached"] if arguments.staged else []
        words += [arguments.revision] if arguments.revision else []
        return (*words, "--", *([arguments.path] if arguments.path else []))


class GitLog(GitTool["GitLog.Arguments"]):
    """List the newest commits of a git repository: hash, date, author, branches, subject."""

    name = "git_log"
    empty_text = "There are no commits."

    class Arguments(RepositoryArguments):
        limit: int = Field(default=20, ge=1, le=200, description="How many commits at most.")
        revision: str | None = Field(
            default=None,
            pattern=REVISION,
            max_length=200,
            description="Begin at this commit or branch, or list this range (main..HEAD).",
        )
        path: FilePath | None = Field(
            default=None,
            description="Only commits that touched this path of the repository folder.",
        )

    def git_arguments(self, arguments: Arguments) -> tuple[str, ...]:
        words = ["log", f"--max-count={arguments.limit}", "--date=short", "--decorate=short"]
        words += ["--format=%h %ad %an%d: %s"]
        words += [arguments.revision] if arguments.revision else []
        return (*words, "--", *([arguments.path] if arguments.path else []))
