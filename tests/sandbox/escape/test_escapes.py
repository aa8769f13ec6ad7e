"""No attempt to get out of a sandbox succeeds, with either backend, and all count that succeed in a weak one."""

import json
import os
import tempfile
import uuid
from pathlib import Path
from typing import Any

import pytest

from paca.sandbox.base import SandboxLimits, SandboxSpec
from paca.sandbox.runner.forward import GATE_FOLDER
from tests.sandbox.conftest import SandboxHandle
from tests.sandbox.escape import control, host_marks, tools
from tests.sandbox.escape.attempts import ALONE, MEMORY_MIB, MIB, PROCESSES, TOGETHER

pytestmark = [pytest.mark.service, pytest.mark.anyio]
LIMITS = SandboxLimits(memory_mib=MEMORY_MIB, processes=PROCESSES, workspace_mib=MIB)
MIN_COUNTED = 80
ALL = {each.name: each.code for each in (*TOGETHER, *ALONE)}


@pytest.fixture
def host(tmp_path: Path) -> Any:
    folder = tmp_path / "host"
    folder.mkdir()
    with host_marks.marks(folder) as marks:
        yield marks


def test_attempts_have_names_of_their_own() -> None:
    assert len(ALL) == len(TOGETHER) + len(ALONE)


def test_weak_sandbox_is_caught(host: dict[str, Any], tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("the weak sandbox needs root")
    other = tmp_path / "other"
    other.write_text("canary of another conversation")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        given = {**host, "other_file": str(other), "workspace": memory}
        found = control.run(ALL, given, tmp_path)
    escaped = [name for name, result in found.items() if result == "escaped"]
    assert len(escaped) >= MIN_COUNTED, {name: found[name] for name in ALL if name not in escaped}
    # The kinds that need no right of this machine that containers lack.
    kinds = {each.kind for each in TOGETHER + ALONE if each.name in escaped}
    assert kinds == {each.kind for each in TOGETHER + ALONE}


async def test_no_attempt_gets_out(
    backend: Any, open_sandbox: Any, host: dict[str, Any], tmp_path: Path
) -> None:
    other = await open_sandbox()
    await other.write("other.txt", "canary of another conversation")
    given = {**host, "gate": GATE_FOLDER, "workspace": "/workspace", "wait": 1.2}
    given["other_file"] = str(
        tmp_path / "workspaces" / str(other.spec.conversation_id) / "other.txt"
    )
    spec = SandboxSpec(uuid.uuid4(), limits=LIMITS, gate=Path(host["gate"]))
    sandbox = await backend.open(spec, epoch=1)
    try:
        handle = SandboxHandle(sandbox, spec)
        await handle.write("tools.py", Path(tools.__file__).read_bytes())
        found = await run(handle, TOGETHER, given)
        for each in ALONE:
            found |= await run(handle, [each], given)
        assert (await handle.bash("echo alive")).output == "alive\n"
        assert (await other.bash("cat other.txt")).output == "canary of another conversation"
    finally:
        await sandbox.end(keep_files=False)
    assert set(found) == set(ALL)
    assert {name: result for name, result in found.items() if not result.startswith("held")} == {}
    mistakes = ("NameError", "TypeError", "AttributeError", "SyntaxError", "KeyError", "ctypes")
    assert {
        name: found[name] for name in found if any(each in found[name] for each in mistakes)
    } == {}
    os.kill(host["pid"], 0)  # it is still there
    assert (Path(host["gate"]) / "gate.sock").exists()


async def run(handle: SandboxHandle, attempts: Any, host: dict[str, Any]) -> dict[str, str]:
    """What became of each attempt. A command that is ended for using too much was held."""
    await handle.write("attempts.json", json.dumps({each.name: each.code for each in attempts}))
    line = "cd /tmp; python3 /workspace/tools.py /workspace/attempts.json"
    outcome = await handle.bash(line, seconds=60, ESCAPE_HOST=json.dumps(host))
    if outcome.cause and len(attempts) == 1:
        return {attempts[0].name: f"held: {outcome.cause}"}
    assert outcome.exit_code == 0, outcome.output
    return control.parse(outcome.output)
