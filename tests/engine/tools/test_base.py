"""``perform``: time limits of tools, and refusals of the workspace."""

import asyncio
from typing import Any, ClassVar

import pytest

from paca.engine.tools import base
from paca.engine.tools.base import (
    Effect,
    ParsedCall,
    Tool,
    ToolArguments,
    ToolContext,
    ToolOutput,
    perform,
)
from paca.engine.workspace import (
    CallUnknown,
    FileTooLarge,
    OutsideWorkspace,
    SandboxGone,
    SandboxUnavailable,
    WorkspaceError,
)
from tests.engine.tools.conftest import ToolSession

pytestmark = pytest.mark.anyio


class ScriptedTool(Tool["ScriptedTool.Arguments"]):
    """Ends as the test says."""

    name = "scripted"
    effect = Effect.OPAQUE
    timeout_seconds: ClassVar[float] = 0.05
    reattachable = True

    class Arguments(ToolArguments):
        path: str = "a.txt"

    def __init__(self, outcome: WorkspaceError | float) -> None:
        self.outcome = outcome

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        if isinstance(self.outcome, WorkspaceError):
            raise self.outcome
        await asyncio.sleep(self.outcome)
        return ToolOutput("done")


async def act(session: ToolSession, outcome: WorkspaceError | float) -> ToolOutput:
    async def opened() -> Any:
        return session.workspace

    return await perform(
        ParsedCall(ScriptedTool(outcome), ScriptedTool.Arguments()), ToolContext("call-1", opened)
    )


@pytest.mark.parametrize(
    ("error", "expected", "cause"),
    [
        (OutsideWorkspace(), "a.txt: This path is outside the workspace.", "refused"),
        (SandboxUnavailable("No bubblewrap here."), "No bubblewrap here.", "refused"),
        (FileTooLarge(), "a.txt: The file is too large for this.", ""),
        (FileTooLarge("a.txt has 9 GiB."), "a.txt has 9 GiB.", ""),
    ],
)
async def test_perform_turns_a_refusal_into_a_result(
    session: ToolSession, error: WorkspaceError, expected: str, cause: str
):
    assert await act(session, error) == ToolOutput(expected, failed=True, cause=cause)


@pytest.mark.parametrize("error", [SandboxGone(), CallUnknown()])
async def test_perform_raises_if_the_outcome_is_unknown(
    session: ToolSession, error: WorkspaceError
):
    with pytest.raises(type(error)):
        await act(session, error)


async def test_perform_kills_the_call_if_the_workspace_does_not_answer(
    session: ToolSession, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(base, "GRACE_SECONDS", 0.05)
    result = await act(session, 60.0)
    assert (result.failed, result.cause) == (True, "timed_out")
    assert "scripted gave no answer within 0.05 s" in result.output
    assert session.workspace.killed == ["call-1"]


async def test_perform_does_not_count_the_start_of_the_sandbox(
    session: ToolSession, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(base, "GRACE_SECONDS", 0.0)

    async def slowly() -> Any:
        await asyncio.sleep(0.02)
        return session.workspace

    result = await perform(
        ParsedCall(ScriptedTool(0.0), ScriptedTool.Arguments()), ToolContext("call-1", slowly)
    )
    assert result == ToolOutput("done")


async def test_perform_lets_a_cancellation_pass(session: ToolSession):
    call = asyncio.ensure_future(act(session, 5.0))
    await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_think_tool_needs_no_sandbox(session: ToolSession):
    assert await session.call("think", thought="First the tests.") == ToolOutput("Noted.")
    assert session.opened == 0
