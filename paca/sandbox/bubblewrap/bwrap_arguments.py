"""The arguments of bwrap: which files of this machine a sandbox sees, and as which user it runs."""

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from uuid import UUID

from paca.engine.context.skills import SKILLS_FOLDER
from paca.sandbox.base import SandboxLimits
from paca.sandbox.environment import SETUP_FOLDER
from paca.sandbox.runner import CACHE, HOME, SHARED_MEMORY, TMP, WORKSPACE
from paca.sandbox.runner.forward import GATE_FOLDER
from paca.sandbox.runner_bundle import BUNDLE_ROOT, Interpreter

SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
FIRST_UID, UID_COUNT = (
    1_900_000_000,
    100_000_000,
)  # above the uids that distributions and containers give out
SMALL_FIRST_UID, SMALL_UID_COUNT = 30_000, 30_000


def is_visible_inside(path: Path) -> bool:
    """Whether a path of the host lies in a folder that every sandbox can read."""
    return any(path.is_relative_to(f"/{name}") for name in ("usr", *SYSTEM_FOLDERS))


@dataclass(frozen=True, slots=True)
class SandboxUser:
    """The user inside the sandbox.

    ``drop_privileges``: this process is root, so the runner starts as root and becomes this user, which
    no other sandbox has.
    """

    uid: int
    gid: int
    drop_privileges: bool


def user_for(conversation_id: UUID) -> SandboxUser:
    """The user for a conversation's sandbox: this process's own user, or as root one for each conversation.

    A user of its own keeps a sandbox's files from the others and gives it its own process limit.
    """
    if os.geteuid() != 0:
        return SandboxUser(os.geteuid(), os.getegid(), drop_privileges=False)
    number = conversation_id.int
    uid = FIRST_UID + number % UID_COUNT
    if not _is_mapped(FIRST_UID + UID_COUNT):  # root inside a container, which has only few uids
        uid = SMALL_FIRST_UID + number % SMALL_UID_COUNT
    return SandboxUser(uid, uid, drop_privileges=True)


def _is_mapped(uid: int) -> bool:
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        first, _, count = (int(word) for word in line.split())
        if first <= uid < first + count:
            return True
    return False


def user_files(user: SandboxUser) -> dict[str, bytes]:
    """The two files of /etc that name the user inside."""
    passwd = (
        "root:x:0:0:root:/root:/usr/sbin/nologin\n"
        f"agent:x:{user.uid}:{user.gid}:agent:{HOME}:/bin/bash\n"
    )
    group = f"root:x:0:\nagent:x:{user.gid}:\n"
    return {"passwd": passwd.encode(), "group": group.encode()}


def arguments(
    *,
    user: SandboxUser,
    limits: SandboxLimits,
    workspace: Path,
    skill_files: dict[str, int],
    etc: Path,
    user_files: dict[str, int],
    runner: Path,
    interpreter: Interpreter,
    seccomp: int | None,
    gate: Path | None = None,
    cache: Path | None = None,
    setup: tuple[Path, bool] | None = None,
) -> list[str]:
    """The arguments of bwrap before the program to run. A path that is not mounted here does not exist inside.

    ``user_files``: files of /etc by name, each a descriptor from which bwrap reads it, and ``skill_files``
    those below /skills by path. ``seccomp``: the descriptor of the filter of system calls, if this processor
    has one. ``gate``: the folder with the socket of the network gate, if the sandbox has a network. ``cache``: that
    of the packages of its project, if it has one. ``setup``: the folder with what is set up, and whether it may be
    written to.
    """
    tmp = str(limits.memory_mib * (1 << 20) // 4)
    return [
        *_namespaces(user),
        *("--as-pid-1", "--new-session", "--clearenv", "--hostname", "sandbox"),
        *([] if seccomp is None else ["--seccomp", str(seccomp)]),
        *_empty_folders(),
        *_system_mounts(),
        *_etc_mounts(etc, user_files),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--size", tmp, "--perms", "1777", "--tmpfs", SHARED_MEMORY),
        *("--size", tmp, "--perms", "1777", "--tmpfs", TMP),
        *("--symlink", "../tmp", f"/var{TMP}", "--symlink", "../run", "/var/run"),
        *("--size", tmp, "--perms", "0700", "--tmpfs", HOME),
        *("--bind", str(workspace), WORKSPACE),
        *_skill_files(skill_files),
        *([] if gate is None else ["--ro-bind", str(gate), GATE_FOLDER]),
        *([] if cache is None else ["--bind", str(cache), CACHE]),
        *_setup_mount(setup),
        *_runner_mounts(runner, interpreter),
        *("--remount-ro", "/dev", "--remount-ro", "/"),
        *("--chdir", "/"),
    ]


def _namespaces(user: SandboxUser) -> list[str]:
    separate = ["ipc", "pid", "net", "uts", "cgroup-try"]
    if not user.drop_privileges:
        return [
            "--unshare-user",
            "--disable-userns",
            *(f"--unshare-{name}" for name in separate),
            *("--cap-drop", "ALL"),
        ]
    # Root needs no user namespace. The runner uses these capabilities once, to stop being root.
    used_once = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_CHOWN")
    return [
        *(f"--unshare-{name}" for name in separate),
        *("--cap-drop", "ALL"),
        *(word for name in used_once for word in ("--cap-add", name)),
    ]


def _empty_folders() -> list[str]:
    # Folders that bwrap makes on its own are open to root only.
    python = [f"{BUNDLE_ROOT}/python", f"{BUNDLE_ROOT}/python/bin", f"{BUNDLE_ROOT}/python/lib"]
    folders = ["/home", "/opt", "/run", "/var", BUNDLE_ROOT, *python]
    return [word for folder in folders for word in ("--perms", "0755", "--dir", folder)]


def _system_mounts() -> list[str]:
    found = ["--ro-bind", "/usr", "/usr"]
    for name in SYSTEM_FOLDERS:
        path = Path("/", name)
        if path.is_symlink():
            found += ["--symlink", str(path.readlink()), f"/{name}"]
        elif path.is_dir():
            found += ["--ro-bind", str(path), f"/{name}"]
    return found


def _etc_mounts(etc: Path, user_files: dict[str, int]) -> list[str]:
    found = ["--ro-bind", str(etc), "/etc"]
    for name, descriptor in user_files.items():
        found += ["--perms", "0644", "--ro-bind-data", str(descriptor), f"/etc/{name}"]
    return found


def _setup_mount(setup: tuple[Path, bool] | None) -> list[str]:
    if setup is None:
        return []
    folder, is_writable = setup
    # guard: bubblewrap-setups-are-read-only
    option = "--bind" if is_writable else "--ro-bind"
    return [option, str(folder), SETUP_FOLDER]


def _skill_files(files: dict[str, int]) -> list[str]:
    """Files in the root file system, which is in memory and made read-only at the end."""
    parents = {parent for path in files for parent in PurePosixPath(SKILLS_FOLDER, path).parents}
    folders = sorted(str(parent) for parent in parents if parent != PurePosixPath("/"))
    found = [word for folder in folders for word in ("--perms", "0755", "--dir", folder)]
    for path, descriptor in files.items():
        found += ["--perms", "0555", "--file", str(descriptor), f"{SKILLS_FOLDER}/{path}"]
    return found


def _runner_mounts(runner: Path, interpreter: Interpreter) -> list[str]:
    found = ["--ro-bind", str(runner), f"{BUNDLE_ROOT}/runner"]
    for source, target in interpreter.binds:
        found += ["--ro-bind", str(source), target]
    for target in interpreter.masked:
        found += ["--tmpfs", target, "--remount-ro", target]
    if interpreter.library_path:
        found += ["--setenv", "LD_LIBRARY_PATH", interpreter.library_path]
    return found
