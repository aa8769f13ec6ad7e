"""Environment variables of people reach commands when they start, and nothing else; outputs do not show them."""

import uuid
from base64 import b64encode
from types import SimpleNamespace
from typing import Any

import pytest

from paca.engine.workspace import Command
from paca.sandbox.base import SandboxSpec
from paca.sandbox.environment import CommandVariables
from paca.sandbox.runner_workspace import RunnerWorkspace

pytestmark = pytest.mark.anyio
SECRET = "tok-3f9a77d2"


def workspace(variables: CommandVariables, output: str = "") -> tuple[RunnerWorkspace, list[Any]]:
    sent: list[Any] = []

    async def request_outcome(op: str, call_id: str, on_output: Any, **fields: Any) -> Any:
        sent.append(fields)
        return {"exit_code": 0, "output": output, "seconds": 0.1}

    attachment: Any = SimpleNamespace(request_outcome=request_outcome, has_gate=False)
    return RunnerWorkspace(attachment, {"GIT_AUTHOR_NAME": "rosa"}, None, variables), sent


async def test_a_command_gets_them_and_nothing_of_paca_is_replaced() -> None:
    given = CommandVariables({"TOKEN": SECRET, "GIT_AUTHOR_NAME": "eve", "OWN": "theirs"})
    found, sent = workspace(given)
    await found.run(Command("a", shell="true", env={"OWN": "ours"}))
    assert sent[0]["env"] == {"TOKEN": SECRET, "GIT_AUTHOR_NAME": "rosa", "OWN": "ours"}


async def test_secrets_are_masked_in_outputs_in_several_encodings() -> None:
    encoded = b64encode(f"x{SECRET}".encode()).decode()
    found, _ = workspace(
        CommandVariables({"TOKEN": SECRET}, frozenset({SECRET})), f"a {SECRET} {encoded} z"
    )
    outcome = await found.run(Command("a", shell="true"))
    assert SECRET not in outcome.output
    assert encoded not in outcome.output
    assert outcome.output.startswith("a ***")


async def test_the_next_command_gets_new_values_and_old_secrets_stay_masked() -> None:
    variables = CommandVariables({"TOKEN": SECRET}, frozenset({SECRET}))
    found, sent = workspace(variables, SECRET)
    variables.replace_with(CommandVariables({"OTHER": "new-value"}, frozenset({"new-value"})))
    outcome = await found.run(Command("a", shell="true"))
    assert sent[0]["env"] == {"OTHER": "new-value", "GIT_AUTHOR_NAME": "rosa"}
    assert outcome.output == "***"


def test_a_spec_neither_shows_nor_compares_them() -> None:
    conversation = uuid.uuid4()
    given = CommandVariables({"TOKEN": SECRET}, frozenset({SECRET}))
    spec = SandboxSpec(conversation, variables=given)
    assert SECRET not in repr(spec) + repr(given)
    assert spec == SandboxSpec(conversation)


@pytest.mark.service
async def test_a_sandbox_gives_them_to_commands_only(backend) -> None:
    spec = SandboxSpec(uuid.uuid4(), variables=CommandVariables({"TOKEN": SECRET}))
    sandbox = await backend.open(spec, epoch=1)
    try:
        here = await sandbox.run(Command("a", shell="echo $TOKEN; bash -c 'echo $TOKEN'"))
        first = "tr '\\0' '\\n' </proc/1/environ; tr '\\0' ' ' </proc/1/cmdline; true"
        of_the_runner = await sandbox.run(Command("b", shell=first))
        spec.variables.replace_with(CommandVariables())
        later = await sandbox.run(Command("c", shell="echo [$TOKEN]"))
    finally:
        await sandbox.detach()
        await backend.remove(spec.conversation_id)
    assert here.output == f"{SECRET}\n{SECRET}\n"
    assert SECRET not in of_the_runner.output
    assert later.output == "[]\n"
