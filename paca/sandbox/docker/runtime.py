"""The runtime that starts containers of sandboxes, such as runsc of gVisor, where the operator has chosen one."""

from paca.engine.workspace import SandboxUnavailable
from paca.sandbox.docker.engine import PREFIX, DockerEngine, DockerRefused

MISSING = (
    "SANDBOX_RUNTIME is {runtime}, and Docker has no runtime of that name (it has {found}). Add it to the daemon: for "
    'gVisor install runsc, put {{"runtimes": {{"{runtime}": {{"path": "/usr/bin/{runtime}"}}}}}} into '
    "/etc/docker/daemon.json and reload Docker. Or unset SANDBOX_RUNTIME."
)


async def check(engine: DockerEngine, runtime: str) -> None:
    """Check that the daemon has the runtime that is set; nothing if none is. Raises ``SandboxUnavailable``."""
    if not runtime:
        return
    try:
        info = await engine.call(lambda client: client.info())
    except DockerRefused as refusal:
        raise SandboxUnavailable(f"{PREFIX}Docker refused: {refusal.detail}") from refusal
    found = sorted(info.get("Runtimes") or {})
    # guard: sandbox-runtime-is-there
    if runtime not in found:
        raise SandboxUnavailable(PREFIX + MISSING.format(runtime=runtime, found=", ".join(found)))
