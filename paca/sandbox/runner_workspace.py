"""The workspace of a sandbox, reached through its runner; the sandboxes of all backends derive from it."""

from base64 import b64decode, b64encode
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from paca.common.secret_removal import text_without_secrets
from paca.engine.workspace import (
    CallReport,
    CallUnknown,
    Command,
    CommandOutcome,
    FileChange,
    FileInfo,
    FileLines,
    OnOutput,
    SandboxGone,
    WorkspaceError,
)
from paca.sandbox.base import WorkspaceUsage
from paca.sandbox.egress.refusals import Refusals
from paca.sandbox.environment import CommandVariables
from paca.sandbox.runner_answers import MISFIT, parse, parse_outcome
from paca.sandbox.runner_client import Attachment
from paca.sandbox.runner_pipe import RunnerPipe


class RunnerWorkspace:
    """The ``SandboxWorkspace`` of one attachment. Methods raise the errors that ``Attachment.request`` does.

    ``environment``: variables for every command, in addition to those that the runner sets. ``gate``: the folder of
    the network gate, if the sandbox has a network. ``variables``: those that people have set, which replace none of
    ``environment``.
    """

    def __init__(
        self,
        attachment: Attachment,
        environment: dict[str, str],
        gate: Path | None = None,
        variables: CommandVariables | None = None,
    ) -> None:
        self._variables = variables or CommandVariables()
        self._refusals = Refusals(gate, has_gate=attachment.has_gate)
        self._attachment = attachment
        self._environment = environment

    @property
    def boot_id(self) -> str:
        """Identifies this start of the runner."""
        return self._attachment.boot_id

    @property
    def lost(self) -> bool:
        """Whether the runner is gone or another worker has attached. The sandbox must then be opened again."""
        return self._attachment.lost

    @property
    def has_gate(self) -> bool:
        """Whether the sandbox was started with a network gate."""
        return self._attachment.has_gate

    @property
    def was_idle(self) -> bool:
        """Whether nothing ran in it, and nobody else used it, when it was opened."""
        return self._attachment.was_idle

    @property
    def resumed(self) -> bool:
        """Whether the sandbox was paused until it was opened."""
        return self._attachment.resumed

    async def wait_until_lost(self) -> None:
        """Wait until ``lost`` is true."""
        await self._attachment.wait_until_lost()

    async def run(self, command: Command, on_output: OnOutput | None = None) -> CommandOutcome:
        self._refusals.begin(command.call_id)
        outcome = await self._attachment.request_outcome(
            "run", command.call_id, on_output, **self._fields(command)
        )
        return self._refusals.add_to(self._parse(outcome), command.call_id)

    async def run_for(
        self, seconds: float, command: Command, on_output: OnOutput | None = None
    ) -> CommandOutcome | None:
        self._refusals.begin(command.call_id)
        outcome = await self._attachment.request_outcome_within(
            seconds, "run", command.call_id, on_output, **self._fields(command)
        )
        if outcome is None:
            return None
        return self._refusals.add_to(self._parse(outcome), command.call_id)

    def _parse(self, outcome: Any) -> CommandOutcome:
        """The outcome of a command, without the secret values that it printed."""
        parsed = parse_outcome(outcome)
        return replace(parsed, output=self._masked(parsed.output))

    def _masked(self, text: str) -> str:
        # guard: variables-leave-no-trace-in-outputs
        return text_without_secrets(text, self._variables.secrets)

    def _fields(self, command: Command) -> dict[str, Any]:
        # guard: variables-replace-nothing-of-paca
        env = {**self._variables.values, **self._environment, **command.env}
        return {
            "shell": command.shell,
            "argv": list(command.argv) if command.argv is not None else None,
            "cwd": command.cwd,
            "timeout": command.timeout_seconds,
            "env": env,
        }

    async def look(
        self, call_ids: Collection[str], *, characters: int = 2000
    ) -> dict[str, CallReport]:
        """See ``SandboxWorkspace.look``. Raises ``SandboxGone`` for an answer that does not fit."""
        try:
            found = await self._attachment.request(
                "look", call_ids=list(call_ids), characters=characters
            )
        except SandboxGone:
            raise
        except WorkspaceError:  # a runner of an older version, which does not know the request
            return await self._look_by_following(call_ids)
        if not isinstance(found, dict):
            raise SandboxGone(MISFIT)
        reports = {str(call_id): parse(CallReport, fields) for call_id, fields in found.items()}
        return {
            call_id: self._refusals.add_to_report(
                replace(report, output=self._masked(report.output)), call_id
            )
            for call_id, report in reports.items()
        }

    async def _look_by_following(self, call_ids: Collection[str]) -> dict[str, CallReport]:
        """The calls that the runner knows, without their output: by an older request it tells the seconds left."""
        reports = {}
        for call_id in call_ids:
            with suppress(CallUnknown):
                known = await self._attachment.request("follow", call_id=call_id)
                reports[call_id] = CallReport(not known["seconds"], 0.0, "")
        return reports

    async def attach(self, call_id: str, on_output: OnOutput | None = None) -> CommandOutcome:
        outcome = await self._attachment.request_outcome("follow", call_id, on_output)
        return self._refusals.add_to(self._parse(outcome), call_id)

    async def open_pipe(self, command: Command) -> RunnerPipe:
        return await RunnerPipe.open(
            self._attachment, command, {**self._environment, **command.env}
        )

    async def kill(self, call_id: str) -> None:
        await self._attachment.request("kill", call_id=call_id)

    async def read_lines(self, path: str, *, first: int = 1, count: int = 2000) -> FileLines:
        return parse(
            FileLines,
            await self._attachment.request("read_lines", path=path, first=first, count=count),
        )

    async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 20) -> bytes:
        return b64decode(
            await self._attachment.request("read", path=path, offset=offset, limit=limit)
        )

    async def stat(self, path: str) -> FileInfo:
        return parse(FileInfo, await self._attachment.request("stat", path=path))

    async def list(self, path: str = ".", *, depth: int = 1, limit: int = 500) -> list[FileInfo]:
        entries = await self._attachment.request("list", path=path, depth=depth, limit=limit)
        return [parse(FileInfo, entry) for entry in entries]

    async def write(
        self,
        call_id: str,
        path: str,
        content: bytes,
        *,
        expected_digest: str | None = None,
        keep_form: bool = False,
    ) -> FileChange:
        change = await self._attachment.request(
            "write",
            call_id=call_id,
            path=path,
            content=b64encode(content).decode("ascii"),
            expected=expected_digest,
            keep_form=keep_form,
        )
        return parse(FileChange, change)

    async def replace(
        self,
        call_id: str,
        path: str,
        old: str,
        new: str,
        *,
        every: bool = False,
        expected_digest: str | None = None,
    ) -> FileChange:
        change = await self._attachment.request(
            "replace",
            call_id=call_id,
            path=path,
            old=old,
            new=new,
            every=every,
            expected=expected_digest,
        )
        return parse(FileChange, change)

    async def usage(self) -> WorkspaceUsage:
        """How much is stored in the workspace, measured now.

        Raises ``WorkspaceError`` if the runner is of an older version, and ``SandboxGone`` for numbers that do
        not fit.
        """
        usage = parse(WorkspaceUsage, await self._attachment.request("usage"))
        if not all(_is_count(count) for count in (usage.size, usage.files, usage.limit)):
            raise SandboxGone(MISFIT)
        return usage

    async def detach(self) -> None:
        """Disconnect; the runner and its calls continue."""
        self._attachment.close()


def _is_count(value: Any) -> bool:
    """Whether a number of the runner, which is not trusted, fits a column of the database."""
    return type(value) is int and 0 <= value < 1 << 63
