"""The process of bwrap: it is started, reports the process that becomes the runner, and is collected."""

import os
import select
import subprocess
from pathlib import Path

from paca.common import clock
from paca.engine.workspace import SandboxBroken, SandboxUnavailable
from paca.sandbox.bubblewrap import start_status
from paca.sandbox.bubblewrap.host_process import RunnerProcess
from paca.sandbox.runner import proc

# bwrap reports the process it has made within milliseconds; after this time it has failed.
START_SECONDS = 20.0
POLL_MILLISECONDS = 0.5
START_HINT = "See docs/architecture.md, or set PACA_SANDBOX=none to work without commands."
# Of kernels without namespaces for users, and of AppArmor (Ubuntu 24.04), in the words of bwrap.
NAMESPACE_REFUSALS = ("Operation not permitted", "namespace", "setting up uid map")
NAMESPACE_HINT = (
    "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces=10000 or "
    "kernel.apparmor_restrict_unprivileged_userns=0), or set PACA_SANDBOX=none to work without commands."
)
_children: set[int] = set()


def spawn(argv: list[str], log: Path, passed: list[int]) -> int:
    """Start bwrap in a session of its own, with these descriptors; gives a pidfd of it. Raises ``OSError``."""
    with log.open("wb") as output:
        child = subprocess.Popen(  # noqa: S603 - no word of the command line comes from outside
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=passed,
            start_new_session=True,
            env={},
            cwd="/",
        )
    child.returncode = 0  # Popen must not warn: sandboxes outlive this process by design
    try:
        return os.pidfd_open(child.pid)
    finally:
        _children.add(child.pid)  # from now on it may be collected


def wait_for_runner(bwrap: int, status: Path, log: Path, epoch: int) -> RunnerProcess:
    """Wait until bwrap has made the process that becomes the runner. Raises ``SandboxUnavailable``.

    It reads the status file, and bwrap gets no pipe: if this process were killed first, a write to a
    pipe without a reader would end bwrap, and leave a process behind that keeps the workspace mounted.
    """
    deadline = clock.monotonic() + START_SECONDS
    ended = select.poll()  # select() takes no descriptor above 1023, and a busy worker has more
    ended.register(bwrap, select.POLLIN)
    has_ended = False
    while (pid := start_status.runner_pid(status)) is None:
        if has_ended or clock.monotonic() > deadline:
            raise start_error(log)
        has_ended = bool(ended.poll(POLL_MILLISECONDS))
    return RunnerProcess(pid, proc.start_time(pid) or 0, epoch)


def reap_children() -> None:
    """Collect the exit statuses of ended sandboxes that this process started, so that no zombie stays."""
    for pid in list(_children):
        try:
            ended = os.waitpid(pid, os.WNOHANG)[0] == pid
        except ChildProcessError:
            ended = True
        if ended:
            _children.discard(pid)


def start_error(log: Path) -> SandboxUnavailable:
    """The error for a sandbox that did not start: its reason from the log, and what to do."""
    output = log.read_text(errors="replace").strip().splitlines()
    last = output[-1][:300].rstrip(".") if output else "no reason given"
    if any(words in last for words in NAMESPACE_REFUSALS):
        return SandboxUnavailable(f"Commands cannot run on this server: {last}. {NAMESPACE_HINT}")
    return SandboxBroken(f"Commands cannot run on this server: {last}. {START_HINT}")
