"""The tool with which an agent opens a pull request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pydantic import Field

from paca import events
from paca.common.errors import NotAllowed, PacaError
from paca.engine.tools.base import (
    Effect,
    NonEmptyText,
    Tool,
    ToolArguments,
    ToolContext,
    ToolOutput,
)
from paca.engine.tools.formatting import to_one_line

MAX_TITLE_CHARACTERS, MAX_BODY_CHARACTERS = 250, 30_000


class PullRequestRefused(PacaError):
    """The pull request cannot be opened."""

    code = "pull_request_refused"


@dataclass(frozen=True, slots=True)
class WantedPullRequest:
    """What an agent wants to open. An empty ``base`` is the default branch."""

    repository: str
    branch: str
    title: str
    body: str = ""
    base: str = ""


@dataclass(frozen=True, slots=True)
class OpenedPullRequest:
    """A pull request that is open. ``url`` is its page. ``masked``: what was asked for had secrets in its title or body,
    and was sent without them.
    """

    repository_id: str
    repository: str
    branch: str
    base: str
    number: int
    url: str
    title: str
    masked: bool = False


class PullRequestAccess(Protocol):
    """The way of one conversation to the pull requests of its agent's repositories."""

    async def open_pull_request(self, wanted: WantedPullRequest) -> OpenedPullRequest:
        """Open a pull request, or find the one that is open. Raises ``PullRequestRefused``, and ``NotAllowed`` if the
        agent's role does not allow it.
        """
        ...


class CreatePullRequest(Tool["CreatePullRequest.Arguments"]):
    """Open a pull request of a branch that you have pushed. If it has an open one, you get that."""

    name = "create_pull_request"
    # A repeat finds the open pull request of the branch, so that there is one of it.
    effect = Effect.IDEMPOTENT
    timeout_seconds = 60
    uses_workspace = False
    sends_out = True

    class Arguments(ToolArguments):
        repository: NonEmptyText = Field(max_length=60, description="Its name.")
        branch: NonEmptyText = Field(max_length=255)
        title: NonEmptyText = Field(max_length=MAX_TITLE_CHARACTERS)
        body: str = Field(default="", max_length=MAX_BODY_CHARACTERS, description="Markdown.")
        base: str = Field(default="", max_length=255, description="Empty: the default branch.")

    def __init__(self, access: PullRequestAccess | None = None) -> None:
        """A tool without ``access`` can be described and not used."""
        self._access = access

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(f"{arguments.repository} {arguments.branch}: {arguments.title}")

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        assert self._access is not None, "the tool is not connected to repositories"
        wanted = WantedPullRequest(
            arguments.repository,
            arguments.branch,
            arguments.title,
            arguments.body,
            arguments.base,
        )
        try:
            opened = await self._access.open_pull_request(wanted)
        except PacaError as error:
            refused = isinstance(error, PullRequestRefused | NotAllowed)
            return ToolOutput(error.detail, failed=True, cause="refused" if refused else "")
        event = events.PullRequestOpened(
            repository_id=opened.repository_id,
            repository=opened.repository,
            branch=opened.branch,
            base=opened.base,
            number=opened.number,
            url=opened.url,
            title=to_one_line(opened.title),
        )
        text = f"Pull request #{opened.number} of {opened.branch} into {opened.base} is open: {opened.url}"
        if opened.masked:
            text += (
                " A secret in your title or body was replaced by ***. Never write one into a text."
            )
        return ToolOutput(text, events=(event,))
