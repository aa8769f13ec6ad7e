"""What follows a clone: AGENTS.md of the repository is shown as data, and its setup script runs where that is allowed."""

from typing import Any

import pytest

from paca.engine.approvals.allowed_commands import CommandList
from paca.engine.approvals.policy import asks_before_script
from paca.engine.tools.base import RepositorySetup
from paca.engine.tools.repository_setup import (
    MAX_SCRIPT_BYTES,
    SETUP_SCRIPT,
    AfterClone,
    after_clone,
)
from paca.engine.workspace import CommandOutcome, SandboxGone
from tests.support.fake_sandbox_workspace import FakeSandboxWorkspace

pytestmark = pytest.mark.anyio
RUN = f"/bin/bash {SETUP_SCRIPT}"
ALLOWED = RepositorySetup(is_on=True, needs_person=lambda script: False)
FILES = {"boats/AGENTS.md": "Run make.\n", f"boats/{SETUP_SCRIPT}": "make deps\n"}


def workspace(**answers: Any) -> FakeSandboxWorkspace:
    return FakeSandboxWorkspace(FILES, {RUN: answers.get("ran", "done\n")})


async def follow(
    found: FakeSandboxWorkspace, setup: RepositorySetup = ALLOWED, **more: Any
) -> AfterClone:
    return await after_clone(found, "boats", call_id="c1", setup=setup, **more)


async def test_instructions_are_shown_and_the_script_runs_in_the_clone() -> None:
    found = workspace()
    seen: list[str] = []
    done = await follow(found, on_output=seen.append)
    [event] = done.events
    assert (event.path, event.text) == ("boats/AGENTS.md", "Run make.")
    [command] = found.ran
    assert (command.cwd, command.call_id, command.timeout_seconds) == ("boats", "c1-setup", 600)
    assert "ran for" in done.text
    assert done.text.endswith("done")
    assert seen == ["done\n"]


async def test_a_repository_without_both_adds_nothing() -> None:
    assert await follow(FakeSandboxWorkspace({"boats/README.md": "x"})) == AfterClone()


async def test_a_failed_script_is_told_and_ends_nothing() -> None:
    failed = CommandOutcome(None, "x" * 9_000 + "no space", 600.0, cause="timed_out")
    done = await follow(workspace(ran=failed))
    assert "failed (timed out); the clone is there" in done.text
    assert done.text.endswith("no space")
    assert len(done.text) < 5_000


async def test_the_script_runs_once_for_a_call() -> None:
    found = workspace()
    await follow(found)
    await follow(found)
    assert len(found.ran) == 1


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        (RepositorySetup(), "does not run by itself"),
        (RepositorySetup(is_on=False, needs_person=lambda script: False), "does not run by itself"),
        (RepositorySetup(is_on=True), "asks a person first"),
    ],
)
async def test_the_script_waits_for_the_switch_and_the_policy(
    setup: RepositorySetup, said: str
) -> None:
    found = workspace()
    assert said in (await follow(found, setup)).text
    assert found.ran == []


@pytest.mark.parametrize(
    ("policy", "script", "asks"),
    [
        ("auto", "make deps", False),
        ("auto", "pip install x\nrm -rf /\n", True),
        ("unsafe", "make deps", True),
        ("all", "true", True),
        ("unknown", "true", True),
    ],
)
def test_the_policy_asks_as_before_a_command(policy: str, script: str, asks: bool) -> None:
    assert asks_before_script(policy, (), script) is asks


def test_a_list_of_allowed_commands_holds_for_the_script() -> None:
    def asks(*patterns: str) -> bool:
        return asks_before_script("auto", [CommandList("agent", patterns)], "make")

    assert asks("git *")
    assert not asks("git *", "bash .paca/setup.sh")


async def test_the_script_of_another_branch_waits_until_it_is_read() -> None:
    found = workspace()
    assert "default branch only" in (await follow(found, of_default_branch=False)).text
    assert found.ran == []


async def test_a_script_that_no_policy_can_read_whole_asks() -> None:
    long = FakeSandboxWorkspace({f"boats/{SETUP_SCRIPT}": "#" * MAX_SCRIPT_BYTES + "\nrm -rf /\n"})
    assert "asks a person first" in (await follow(long)).text
    assert long.ran == []


async def test_an_ended_sandbox_is_told_to_the_caller() -> None:
    class Gone(FakeSandboxWorkspace):
        async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 20) -> bytes:
            raise SandboxGone

    with pytest.raises(SandboxGone):
        await follow(Gone())
