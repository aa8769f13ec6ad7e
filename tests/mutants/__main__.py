"""``make mutants``: take each guard out of a copy of the tree, and see that its tests fail.

``ONLY=runner`` takes those whose name holds the word. Exit code 1 if one survives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.mutants.changes import changed, markers
from tests.mutants.guards import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    chosen = [mutant for mutant in MUTANTS if os.environ.get("ONLY", "") in mutant.guard]
    if not chosen:
        print("ONLY names no guard; there are:", *(mutant.guard for mutant in MUTANTS), sep="\n  ")
        return 2
    with tempfile.TemporaryDirectory(prefix="paca-mutants-") as folder:
        tree = Path(folder)
        _copy(tree)
        if not _all_pass(chosen, tree):
            return 2
        survived = [mutant for mutant in chosen if not _told(mutant, tree)]
    print(f"{len(chosen) - len(survived)} of {len(chosen)} guards are missed when they are gone")
    return int(bool(survived))


def _copy(tree: Path) -> None:
    """What git knows, as it stands in the working tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def _all_pass(chosen: Sequence[Mutant], tree: Path) -> bool:
    """With the guards in place: else a failure without them says nothing."""
    for on_services in (False, True):
        tests = {
            test for mutant in chosen for test in mutant.tests if mutant.on_services == on_services
        }
        if tests:
            ended = _run(sorted(tests), tree, on_services=on_services)
            if ended.returncode != pytest.ExitCode.OK:
                print(ended.stdout, "the tests fail with every guard in place", sep="\n")
                return False
    return True


def _told(mutant: Mutant, tree: Path) -> bool:
    """Try it and print its line; whether the tests noticed."""
    began = time.monotonic()
    verdict = _verdict(mutant, tree)
    print(f"  {verdict:<20} {time.monotonic() - began:4.0f} s  {mutant.guard}", flush=True)
    return verdict == "killed"


def _verdict(mutant: Mutant, tree: Path) -> str:
    with _without_guard(mutant, tree):
        ended = _run(mutant.tests, tree, on_services=mutant.on_services)
    if ended.returncode == pytest.ExitCode.TESTS_FAILED:
        return "killed"
    if ended.returncode == pytest.ExitCode.OK:
        return "SURVIVED"
    return f"NO VERDICT ({ended.returncode})"


@contextmanager
def _without_guard(mutant: Mutant, tree: Path) -> Iterator[None]:
    file = dict(markers(tree))[mutant.guard]
    source = file.read_text(encoding="utf-8")
    file.write_text(changed(source, mutant.guard, mutant.change), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(source, encoding="utf-8")


def _run(
    tests: Sequence[str], tree: Path, *, on_services: bool
) -> subprocess.CompletedProcess[str]:
    module = "tests.on_services" if on_services else "pytest"
    command = [sys.executable, "-m", module, *tests, "-x", "-q", "-p", "no:cacheprovider"]
    # Neither a skipped test nor none at all may count as one that has passed.
    environment = {**os.environ, "CI": "true"}
    return subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, check=False
    )


if __name__ == "__main__":
    sys.exit(main())
