"""The isolation and limits of sandboxes if Paca does not run as root."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from paca.sandbox.bubblewrap import cgroups, delegation
from tests.sandbox import storing
from tests.sandbox.test_limits import SHARED_HOGS, shared_hog
from tests.sandbox.test_skill_files import ATTEMPTS

pytestmark = pytest.mark.service
ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65_534
ENTER = (
    'echo $$ > "$0/cgroup.procs" && user=$1 && shift && '
    'exec setpriv --reuid "$user" --regid "$user" --clear-groups "$@"'
)


@pytest.fixture
def run_as_nobody():
    """Runs commands in a sandbox that an unprivileged user opened; gives their outcomes."""
    folder = tempfile.mkdtemp(prefix="paca-nobody-")
    # This Python may lie in a folder closed to other users, so another one is used.
    python, user = sys.executable, None
    if os.geteuid() == 0:
        shutil.chown(folder, NOBODY, NOBODY)
        python, user = "/usr/bin/python3", NOBODY
    site = Path(pytest.__file__).parents[1]

    def run(*lines: str, group: Path | None = None, memory_mib: int = 256) -> list[dict]:
        module = "tests.sandbox.unprivileged_process"
        command = [python, "-m", module, folder, str(memory_mib), *lines]
        if group is not None:  # enters it as root
            command = ["/bin/sh", "-c", ENTER, str(group), str(NOBODY), *command]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={
                "PYTHONPATH": f"{ROOT}:{site}",
                "PATH": os.environ["PATH"],
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            user=None if group else user,
            group=None if group else user,
            extra_groups=[] if user and not group else None,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["reason"] is None
        assert answer["left"] == []
        assert group is None or answer["memory_by_kernel"]
        return answer["outcomes"]

    yield run
    shutil.rmtree(folder, ignore_errors=True)


def test_the_isolation_holds_without_root(run_as_nobody):
    status, places, spaces = run_as_nobody(
        "grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status",
        "touch /x /etc/x /dev/x /opt/paca/x; ls /root /proc/1/fd /home; echo x > x && cat x",
        "unshare -U true || unshare -n true || python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 22))'",
    )
    assert status["output"] == "CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"
    assert places["output"].count("Read-only file system") == 4
    assert places["output"].endswith("agent\nx\n") or places["output"].endswith("x\n")
    assert "Permission denied" in places["output"]
    assert spaces["output"].count("not permitted") == 2
    assert "refused" in spaces["output"]


def test_the_limits_hold_without_root(run_as_nobody):
    hog, bomb, alive = run_as_nobody(
        "python3 -c 'import time; x = bytearray(600 << 20); time.sleep(15)'",
        ":(){ :|:& };:; sleep 15",
        "echo alive",
    )
    assert (hog["cause"], hog["exit_code"]) == ("out_of_memory", 137)
    assert bomb["cause"] == "too_many_processes"
    assert alive["output"] == "alive\n"


@pytest.fixture
def delegated_group():
    """A control group that belongs to the other user, as systemd makes it for ``User=`` with ``Delegate=yes``."""
    group = cgroups.ROOT / f"test-{os.getpid()}"
    (cgroups.ROOT / "cgroup.subtree_control").write_text("+cpu +memory +pids")
    group.mkdir()
    for path in (group, group / "cgroup.procs", group / "cgroup.subtree_control"):
        shutil.chown(path, NOBODY, NOBODY)
    yield group
    for folder in (group / delegation.WORKERS, group):
        folder.rmdir()  # fails if the group of a sandbox was left


@pytest.mark.cgroup2
def test_the_kernel_limits_memory_without_root_in_a_delegated_group(run_as_nobody, delegated_group):
    hog, shared, bomb, alive = run_as_nobody(
        "head -c 90M /dev/zero | tail -c 90M > /dev/null; exit 3",
        "python3 -c 'import os; fd = os.memfd_create(\"x\"); [os.write(fd, bytes(1 << 20)) for _ in range(90)]'",
        ":(){ :|:& };:; sleep 15",
        "echo alive",
        group=delegated_group,
        memory_mib=48,
    )
    assert (hog["cause"], hog["exit_code"]) == ("out_of_memory", 3)
    assert (shared["cause"], shared["exit_code"]) == ("out_of_memory", 137)
    assert bomb["cause"] in {"too_many_processes", ""}  # it may starve by itself
    assert alive["output"] == "alive\n"


LOOK_AT = """
import ctypes, os, sys, time
from paca.sandbox.runner import open_files, proc
pid = os.fork()
if pid == 0:
    if sys.argv[1] == "hides":
        ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
        time.sleep(60)
    os._exit(0)
if sys.argv[1] == "hides":
    while proc.state(pid) != "S":
        time.sleep(0.01)
else:
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
try:
    os.listdir(f"/proc/{pid}/fd")
    refused = False
except PermissionError:
    refused = True
print(refused, open_files.collect([pid], 1).hidden == {pid})
os.kill(pid, 9)
"""


@pytest.mark.parametrize(("way", "is_hidden"), [("hides", True), ("ends", False)])
def test_process_that_ends_hides_nothing_although_its_files_are_closed_to_others(way, is_hidden):
    python, user = ("/usr/bin/python3", NOBODY) if os.geteuid() == 0 else (sys.executable, None)
    done = subprocess.run(
        [python, "-c", LOOK_AT, way],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
        user=user,
        group=user,
        extra_groups=[] if user else None,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[-1:] == [f"True {is_hidden}"], done.stderr


def test_what_is_stored_and_shared_is_limited_without_root(run_as_nobody):
    hogs = [shared_hog(SHARED_HOGS[name], 800, 15) for name in ("memfd", "shared anonymous")]
    ways = [storing.line(way, 300, 15) for way in ("unlinked", "closed folder", "mapped")]
    fits = storing.line("unlinked", 24), shared_hog(SHARED_HOGS["memfd"], 100, 0)
    *ended, freed, stored, shared = run_as_nobody(
        *hogs, *ways, "chmod -R u+rwx .; rm -rf *; sleep 1; echo freed", *fits
    )
    assert freed["output"] == "freed\n"
    causes = [outcome["cause"] for outcome in ended]
    assert causes == ["out_of_memory"] * len(hogs) + ["disk_full"] * len(ways)
    assert (stored["output"], shared["output"]) == ("stored\n", "1\n")


def test_commands_cannot_act_on_the_runner_or_choose_cores_without_root(run_as_nobody):
    attack, own, cores, alive = run_as_nobody(
        "prlimit --nproc=1 --pid 1; chrt --idle --pid 0 1; renice -n 19 -p 1; kill -9 1",
        "prlimit --nofile=100 --pid $$ && renice -n 19 -p $$ && echo done",
        "nproc; taskset -cp 0-63 $$ > /dev/null 2>&1; nproc",
        "echo alive",
    )
    assert attack["output"].count("ermitted") == 4
    assert own["output"].endswith("done\n")
    assert cores["output"] == "1\n1\n"
    assert alive["output"] == "alive\n"


def test_nested_unreadable_folders_are_removed_without_root(run_as_nobody):
    (closed,) = run_as_nobody("mkdir -p a/b/c; touch a/b/c/d; chmod 0 a/b/c a/b a; ls a")
    assert "Permission denied" in closed["output"]


def test_files_of_skills_cannot_be_changed(run_as_nobody):
    first, *attempts, last = run_as_nobody(
        "cat /skills/boats/plan.md", *ATTEMPTS, "cat /skills/boats/plan.md; ls /skills"
    )
    assert first["output"] == "Twelve ribs"
    assert [found for found in attempts if found["exit_code"] == 0] == []
    assert last["output"] == "Twelve ribsboats\n"
