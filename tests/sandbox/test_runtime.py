"""The runtime of Docker that an operator has chosen: used for each container, and never replaced by a weaker one."""

from pathlib import Path
from typing import Any

import pytest

from paca.engine.workspace import SandboxUnavailable
from paca.sandbox.docker import container, runtime
from paca.sandbox.docker.engine import DockerEngine
from paca.sandbox.manager import DockerAddress, SandboxManager

pytestmark = pytest.mark.anyio


class Daemon:
    """Answers what ``info`` asks."""

    def __init__(self, *runtimes: str) -> None:
        self.answer = {"Runtimes": {name: {} for name in runtimes}}

    async def call(self, ask: Any, **options: Any) -> Any:
        return self.answer


def engine(*runtimes: str) -> DockerEngine:
    daemon: Any = Daemon(*runtimes)
    return daemon


async def test_runtime_that_docker_has_not_is_refused_with_the_next_step() -> None:
    await runtime.check(engine("runc"), "")
    await runtime.check(engine("runc", "runsc"), "runsc")
    with pytest.raises(SandboxUnavailable) as refused:
        await runtime.check(engine("runc", "crun"), "runsc")
    assert "SANDBOX_RUNTIME is runsc" in refused.value.detail
    assert "(it has crun, runc)" in refused.value.detail
    assert "daemon.json" in refused.value.detail


def test_runtime_is_that_of_each_container() -> None:
    assert container.isolation("runsc")["Runtime"] == "runsc"
    assert "Runtime" not in container.isolation()


def test_bubblewrap_does_not_stand_in_for_a_runtime(tmp_path: Path) -> None:
    def backends(**address: str) -> list[str]:
        manager = SandboxManager(
            kind="auto", data_dir=tmp_path, install_id="tests", docker=DockerAddress(**address)
        )
        return [each.name for each in manager.backends]

    assert backends() == ["docker", "bubblewrap"]
    assert backends(runtime="runsc") == ["docker"]
