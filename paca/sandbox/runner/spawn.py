"""Starts a command in a session of its own: no terminal, no standard input, bounded."""

from __future__ import annotations

import ctypes
import os
import resource

from paca.sandbox.runner import HOME, TMP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHELL = "/bin/bash"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SPARE_PROCESSES = 16  # the runner's own share, so that it can still start a command in a crowd
PR_SET_DUMPABLE = 4
CAPABILITY_VERSION = 0x20080522
MAX_ARGUMENT_BYTES = (128 << 10) - 1  # the kernel's MAX_ARG_STRLEN
# Python ignores SIGPIPE and SIGXFSZ, the runner SIGTERM: a command must start with none of that.
DEFAULT_SIGNALS = [number for number in range(1, 32) if number not in (9, 19)]


def environment(settings: dict[str, Any]) -> dict[str, str]:
    """What every command finds: nothing of the host, and every prompt answered with no."""
    no_input = settings["no_input"]
    path = f"{PATH}:{settings['extra_path']}" if settings.get("extra_path") else PATH
    return {
        "PATH": path,
        "HOME": HOME,
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": SHELL,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TMPDIR": TMP,
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "EDITOR": no_input,
        "VISUAL": no_input,
        "GIT_EDITOR": no_input,
        "GIT_SEQUENCE_EDITOR": no_input,
        "GIT_ASKPASS": no_input,
        "SSH_ASKPASS": no_input,
        "SUDO_ASKPASS": no_input,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        "GIT_AUTHOR_NAME": settings["git_name"],
        "GIT_AUTHOR_EMAIL": settings["git_email"],
        "GIT_COMMITTER_NAME": settings["git_name"],
        "GIT_COMMITTER_EMAIL": settings["git_email"],
        "DEBIAN_FRONTEND": "noninteractive",
        "PIP_NO_INPUT": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONUNBUFFERED": "1",
    }


def forbid_tracing() -> None:
    """No process of the agent may look into the runner, take its descriptors or trace it.

    What bwrap left to be inherited of root's rights goes too, though nothing could use it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    none = (ctypes.c_uint32 * 6)()
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    if libc.capset(header, none) != 0 or libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot give up what is left")


def set_own_limits(settings: dict[str, Any]) -> None:
    """SandboxLimits which commands inherit; the runner itself never comes near them."""
    os.environ["PATH"] = PATH  # where posix_spawnp looks
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_FSIZE, settings["workspace_mib"] << 20)
    if not settings.get("shared_user"):
        _set_limit(resource.RLIMIT_NPROC, settings["processes"] + SPARE_PROCESSES)


def _command_limits(settings: dict[str, Any]) -> dict[int, int]:
    """The kernel counts processes by user, so that limit is for a user whom no other sandbox has."""
    limits = {resource.RLIMIT_NOFILE: settings["open_files"]}
    if not settings.get("shared_user"):
        limits[resource.RLIMIT_NPROC] = settings["processes"]
    return limits


def _set_limit(which: int, value: int) -> None:
    resource.setrlimit(which, _capped(which, value))


def _capped(which: int, value: int) -> tuple[int, int]:
    """A limit, or the host's if that is lower already."""
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    return value, value


def spawn(
    argv: list[bytes],
    env: dict[bytes, bytes],
    *,
    cwd: int,
    out: int,
    null: int,
    limits: dict[str, Any],
) -> int:
    """Start it and return its pid, which is also its session. Raises ``OSError``."""
    os.fchdir(cwd)
    try:
        pid = _start(argv, env, out, null, limits, spare=0)
    except BlockingIOError:  # a crowd: the runner's own share is for this
        pid = _start(argv, env, out, null, limits, spare=SPARE_PROCESSES)
    finally:
        os.chdir("/")
    _fix_limits(pid, limits)
    return pid


def _start(
    argv: list[bytes],
    env: dict[bytes, bytes],
    out: int,
    null: int,
    limits: dict[str, Any],
    *,
    spare: int,
) -> int:
    # A command inherits our limits: to be its own from its first moment they are ours for a moment.
    command_limits = _command_limits(limits)
    own_limits = {which: resource.getrlimit(which) for which in command_limits}
    for which, value in command_limits.items():
        extra = spare if which == resource.RLIMIT_NPROC else 0
        resource.setrlimit(which, (_capped(which, value + extra)[0], own_limits[which][1]))
    try:
        return os.posix_spawnp(
            argv[0],
            argv,
            env,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, null, 0),
                (os.POSIX_SPAWN_DUP2, out, 1),
                (os.POSIX_SPAWN_DUP2, out, 2),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=DEFAULT_SIGNALS,
        )
    finally:
        for which, before in own_limits.items():
            resource.setrlimit(which, before)


def _fix_limits(pid: int, limits: dict[str, Any]) -> None:
    """Make the limits last: what we could only lend it can no longer be raised."""
    try:
        for which, value in _command_limits(limits).items():
            resource.prlimit(pid, which, _capped(which, value))
        # When memory ends the kernel shall take a command, never the runner.
        fd = os.open(f"/proc/{pid}/oom_score_adj", os.O_WRONLY)
    except OSError:  # it has ended already
        return
    try:
        os.write(fd, b"500")
    except OSError:
        return
    finally:
        os.close(fd)
