"""Starts a command in its own session, without a terminal or standard input, and with resource limits."""

from __future__ import annotations

import ctypes
import os
import resource

from paca.sandbox.runner import CACHE, HOME, TMP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHELL = "/bin/bash"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Reserved for the runner, so that it can start a command when the limit is reached.
SPARE_PROCESSES = 16
PR_SET_DUMPABLE = 4
CAPABILITY_VERSION = 0x20080522
MAX_ARGUMENT_BYTES = (128 << 10) - 1  # the kernel's MAX_ARG_STRLEN
MAX_SCRIPT_BYTES = 1 << 20
SCRIPT_FD = 9
# Runs a script that is too long for an argument as if it were one: the shell reads it whole, then closes it.
READ_SCRIPT = f'eval "exec {SCRIPT_FD}<&-; $(</dev/fd/{SCRIPT_FD})"'
# Python ignores SIGPIPE and SIGXFSZ, the runner SIGTERM: a command must not inherit that.
DEFAULT_SIGNALS = [number for number in range(1, 32) if number not in (9, 19)]


CACHES = {
    "PIP_CACHE_DIR": f"{CACHE}/pip",
    "npm_config_cache": f"{CACHE}/npm",
    "UV_CACHE_DIR": f"{CACHE}/uv",
    "UV_LINK_MODE": "copy",
}


def environment(settings: dict[str, Any]) -> dict[str, str]:
    """The environment of every command: nothing from the host, and every prompt is answered with an error."""
    no_input = settings["no_input"]
    path = f"{PATH}:{settings['extra_path']}" if settings.get("extra_path") else PATH
    caches = CACHES if settings.get("has_cache") else {}
    return {
        **caches,
        "PATH": path,
        "HOME": HOME,
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": SHELL,
        # Without LANG: it would have each program open a file for each of twelve categories, all as in "C".
        "LC_CTYPE": "C.UTF-8",
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


def open_script(script: bytes) -> int:
    """A descriptor of a file in memory with the script, which a command may inherit. Raises ``OSError``."""
    descriptor = os.memfd_create("command", os.MFD_CLOEXEC)
    view = memoryview(script)
    while view:
        view = view[os.write(descriptor, view) :]
    return descriptor


def forbid_tracing() -> None:
    """Keep processes of the agent from reading the runner's memory, taking its descriptors or tracing it.

    The capabilities that bwrap left are dropped too, although nothing could use them. Raises ``OSError``.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    none = (ctypes.c_uint32 * 6)()
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    if libc.capset(header, none) != 0 or libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot drop the remaining capabilities")


def set_own_limits(settings: dict[str, Any]) -> None:
    """Set limits on the runner that commands inherit; the runner itself stays far below them."""
    os.environ["PATH"] = PATH  # posix_spawnp searches this path
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_FSIZE, settings["workspace_mib"] << 20)
    if not settings.get("shared_user"):
        _set_limit(resource.RLIMIT_NPROC, settings["processes"] + SPARE_PROCESSES)


def _command_limits(settings: dict[str, Any]) -> dict[int, int]:
    """The limits of a command.

    The kernel counts processes by user, so their limit is left out if another sandbox has the same user.
    """
    limits = {resource.RLIMIT_NOFILE: settings["open_files"]}
    if not settings.get("shared_user"):
        limits[resource.RLIMIT_NPROC] = settings["processes"]
    return limits


def _set_limit(which: int, value: int) -> None:
    resource.setrlimit(which, _capped(which, value))


def _capped(which: int, value: int) -> tuple[int, int]:
    """The limit, or the current one if that is lower."""
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    return value, value


def spawn(
    argv: list[bytes],
    env: dict[bytes, bytes],
    *,
    cwd: int,
    out: int,
    err: int,
    null: int,
    script: int | None,
    limits: dict[str, Any],
) -> int:
    """Start a command and return its pid, which is also the id of its session. Raises ``OSError``.

    ``null``, ``out`` and ``err``: the descriptors that it gets as standard input, output and error. ``script``: the
    one that it gets as ``SCRIPT_FD``.
    """
    descriptors = {0: null, 1: out, 2: err}
    if script is not None:
        descriptors[SCRIPT_FD] = script
    os.fchdir(cwd)
    try:
        pid = _start(argv, env, descriptors, limits, spare=0)
    except BlockingIOError:  # the limit is reached: use the reserved processes
        pid = _start(argv, env, descriptors, limits, spare=SPARE_PROCESSES)
    finally:
        os.chdir("/")
    _fix_limits(pid, limits)
    return pid


def _start(
    argv: list[bytes],
    env: dict[bytes, bytes],
    descriptors: dict[int, int],
    limits: dict[str, Any],
    *,
    spare: int,
) -> int:
    # A command inherits the runner's limits and its place in the order of the kernel when memory runs out,
    # so the runner has those of the command for a moment.
    command_limits = _command_limits(limits)
    own_limits = {which: resource.getrlimit(which) for which in command_limits}
    for which, value in command_limits.items():
        extra = spare if which == resource.RLIMIT_NPROC else 0
        resource.setrlimit(which, (_capped(which, value + extra)[0], own_limits[which][1]))
    limits["oom_score"].raise_for_command()
    try:
        return os.posix_spawnp(
            argv[0],
            argv,
            env,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, given, number) for number, given in descriptors.items()
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=DEFAULT_SIGNALS,
        )
    finally:
        limits["oom_score"].restore()
        for which, before in own_limits.items():
            resource.setrlimit(which, before)


def _fix_limits(pid: int, limits: dict[str, Any]) -> None:
    """Lower the hard limits of the command as well, so that it cannot raise its limits again."""
    try:
        for which, value in _command_limits(limits).items():
            resource.prlimit(pid, which, _capped(which, value))
    except OSError:  # the command has already ended
        return
