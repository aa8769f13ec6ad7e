"""`scripts/venv.sh`, the first half of `make run`: finds a Python and installs packages by hash, once."""

import ast
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.installation.manage_process import ROOT, clean_environment

SCRIPT = ROOT / "scripts" / "venv.sh"
TOOLS = ("sh", "dirname", "rm")


def a_package(folder: Path, version: str) -> str:
    """Create an empty wheel; gives the line that locks it."""
    wheel = folder / f"nothing-{version}-py3-none-any.whl"
    info = f"nothing-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("nothing.py", f"VERSION = {version!r}\n")
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: nothing\nVersion: {version}\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return f"nothing=={version} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


def install(folder: Path, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [SCRIPT, "requirements.txt"],
        cwd=folder,
        env={
            **clean_environment(),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(folder),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def test_venv_script_installs_by_hash_once_and_again_when_the_lock_changes(tmp_path: Path):
    (tmp_path / "requirements.txt").write_text(a_package(tmp_path, "1.0"))
    first = install(tmp_path)
    assert first.returncode == 0, first.stderr
    assert "Packages     installed" in first.stdout
    assert list(tmp_path.glob(".venv/lib/*/site-packages/__pycache__/nothing.*.pyc")), (
        "not compiled"
    )

    second = install(tmp_path)
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")

    (tmp_path / "requirements.txt").write_text(a_package(tmp_path, "2.0"))
    assert "Packages     installed" in install(tmp_path).stdout
    assert list(tmp_path.glob(".venv/lib/*/site-packages/nothing-2.0.dist-info"))


def test_venv_script_refuses_a_package_whose_hash_differs(tmp_path: Path):
    lock = a_package(tmp_path, "1.0")
    digit = "0" if lock[-2] != "0" else "1"
    (tmp_path / "requirements.txt").write_text(f"{lock[:-2]}{digit}\n")
    ended = install(tmp_path)
    assert ended.returncode == 1
    assert "could not be installed" in ended.stderr + ended.stdout
    assert "Next step:" in ended.stderr + ended.stdout
    assert not list(tmp_path.glob(".venv/lib/*/site-packages/nothing*"))
    # It is not recorded as installed, so the next attempt installs it.
    (tmp_path / "requirements.txt").write_text(lock)
    assert install(tmp_path).returncode == 0


@pytest.mark.parametrize("found", ["none", "an old one"])
def test_venv_script_without_a_new_python_says_so_and_creates_nothing(tmp_path: Path, found: str):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in TOOLS:
        (tools / name).symlink_to(shutil.which(name))
    if found == "an old one":
        (tools / "python3").write_text("#!/bin/sh\nexit 1\n")
        (tools / "python3").chmod(0o755)
    (tmp_path / "requirements.txt").write_text("")
    ended = install(tmp_path, PATH=str(tools))
    assert ended.returncode == 1
    assert ended.stderr.startswith(
        "Paca needs Python 3.11 or newer, and there is none on your PATH."
    )
    assert "Next step: install it" in ended.stderr
    assert not (tmp_path / ".venv").exists()


def test_manage_py_names_the_version_that_it_needs_to_an_old_python():
    pretend = "import sys; sys.version_info = (3, 6, 15); import manage; manage.main()"
    ended = subprocess.run(
        [sys.executable, "-c", pretend, "up"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        "Paca cannot start: this is Python 3.6, and it needs 3.11 or newer.\n"
        "Next step: run `make run`, which looks for a newer one, or: python3.11 manage.py up\n"
    )


def test_manage_py_has_no_syntax_that_an_old_python_cannot_parse():
    """Otherwise an old Python would report a syntax error instead of the needed version."""
    tree = ast.parse((ROOT / "manage.py").read_text(encoding="utf-8"), feature_version=(3, 4))
    newer = (ast.JoinedStr, ast.NamedExpr, ast.AnnAssign, ast.Match, ast.AsyncFunctionDef)
    assert not [node.lineno for node in ast.walk(tree) if isinstance(node, newer)]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert not [
        each.name for each in functions if each.returns or any(a.annotation for a in each.args.args)
    ]
