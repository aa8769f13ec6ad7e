"""Installs the example package with a custom tool, as pip does for a person."""

import contextlib
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from paca.agents import toolbox

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "working_days"
MODULE = "paca_working_days"


def install(folder: Path) -> None:
    """Install the example into ``folder`` with pip, without a network and without a build system.

    The wheel is what setuptools would make of its pyproject.toml; not each Python has setuptools.
    """
    wheel = _build_wheel(folder.parent)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"),
            *("--no-index", "--no-deps", "--no-compile", "--target", str(folder), str(wheel)),
        ],
        check=True,
        timeout=300,
    )


def _build_wheel(folder: Path) -> Path:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    name = f"{project['name'].replace('-', '_')}-{project['version']}"
    facts = f"{name}.dist-info"
    entries = project["entry-points"]["paca.tools"]
    lines = "\n".join(f"{entry} = {target}" for entry, target in entries.items())
    head = f"Name: {project['name']}\nVersion: {project['version']}\n"
    files = {
        f"{MODULE}/__init__.py": (EXAMPLE / MODULE / "__init__.py").read_text(),
        f"{facts}/METADATA": f"Metadata-Version: 2.1\n{head}",
        f"{facts}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{facts}/entry_points.txt": f"[paca.tools]\n{lines}\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{facts}/RECORD"])
    wheel = folder / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**files, f"{facts}/RECORD": record}.items():
            archive.writestr(path, text)
    return wheel


@contextlib.contextmanager
def on_the_path(folder: Path) -> Iterator[None]:
    """Let this process find the packages in ``folder``, as if it had started with them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        toolbox.forget_installed_tools()
        try:
            yield
        finally:
            sys.modules.pop(MODULE, None)
            patch.undo()
            toolbox.forget_installed_tools()
