"""The tools that look at a git repository, without running anything the repository configures."""

from abc import abstractmethod

from pydantic import Field

from paca.engine.tools.base import Effect, FilePath, Tool, ToolArguments, ToolContext, ToolOutput
from paca.engine.tools.commands import command_output
from paca.engine.tools.shaping import phrase
from paca.engine.workspace import Command, CommandOutcome

# Looking must not execute: hooks, monitors, pagers and signature programs come from a repository
# that may be anybody's. Drivers for diffs are switched off by each command's own options.
SAFELY = (
    "--no-pager",
    "--no-optional-locks",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "core.quotePath=false",
    "-c", "color.ui=false",
    "-c", "log.showSignature=false",
    "-c", "safe.directory=*",
)  # fmt: skip
ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "LC_ALL": "C.UTF-8"}
# `git diff` says it with a capital and another exit code than the others.
NOT_A_REPOSITORY = "not a git repository"

# A revision that began with a dash would be an option.
REVISION = r"^[^-\s][^\s]*$"


class RepositoryArguments(ToolArguments):
    repository: FilePath = Field(
        default=".", description="A folder of the repository, relative to the workspace."
    )


class GitTool(Tool):
    """Base of the tools that look at a repository."""

    effect = Effect.READ_ONLY
    safe = True
    reattachable = True
    nothing = "(no output)"

    @abstractmethod
    def words(self, arguments: RepositoryArguments) -> tuple[str, ...]:
        """The git command and its options."""

    def subject(self, arguments: RepositoryArguments) -> str:
        return phrase(" ".join(self.words(arguments)[:1] + (arguments.repository,)))

    async def act(self, arguments: RepositoryArguments, context: ToolContext) -> ToolOutput:
        command = Command(
            context.call_id,
            argv=("git", *SAFELY, *self.words(arguments)),
            cwd=arguments.repository,
            timeout_seconds=self.timeout_seconds,
            env=ENVIRONMENT,
        )
        outcome = await (await context.workspace()).run(command)
        return self._worded(outcome, arguments, context)

    def _worded(
        self, outcome: CommandOutcome, arguments: RepositoryArguments, context: ToolContext
    ) -> ToolOutput:
        if outcome.exit_code != 0 and NOT_A_REPOSITORY in outcome.output.lower():
            text = f"The folder {arguments.repository} is in no git repository."
            return ToolOutput(text, failed=True, exit_code=outcome.exit_code)
        limit = self.timeout_seconds
        return command_output(outcome, context, limit_seconds=limit, nothing=self.nothing)


class GitStatus(GitTool):
    """Show the branch and which files are changed, staged or untracked in a git repository."""

    name = "git_status"

    class Arguments(RepositoryArguments):
        pass

    def words(self, arguments: RepositoryArguments) -> tuple[str, ...]:
        return ("status", "--branch", "--short")

    async def act(self, arguments: RepositoryArguments, context: ToolContext) -> ToolOutput:
        shown = await super().act(arguments, context)
        if shown.failed or "\n" in shown.output:
            return shown
        return ToolOutput(f"{shown.output}\nNothing is changed.", exit_code=0)


class GitDiff(GitTool):
    """Show what changed in a git repository, as a unified diff.

    Without options: the working tree against the index. Untracked files are not in it.
    """

    name = "git_diff"
    nothing = "There are no differences."

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

    def words(self, arguments: RepositoryArguments) -> tuple[str, ...]:
        assert isinstance(arguments, self.Arguments)
        words = ["diff", "--no-ext-diff", "--no-textconv"]
        words += ["--cached"] if arguments.staged else []
        words += [arguments.revision] if arguments.revision else []
        return (*words, "--", *([arguments.path] if arguments.path else []))


class GitLog(GitTool):
    """List the newest commits of a git repository: hash, date, author, branches, subject."""

    name = "git_log"
    nothing = "There are no commits."

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

    def words(self, arguments: RepositoryArguments) -> tuple[str, ...]:
        assert isinstance(arguments, self.Arguments)
        words = ["log", f"--max-count={arguments.limit}", "--date=short", "--decorate=short"]
        words += ["--format=%h %ad %an%d: %s"]
        words += [arguments.revision] if arguments.revision else []
        return (*words, "--", *([arguments.path] if arguments.path else []))
