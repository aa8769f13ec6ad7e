"""``make mutants``: take each guard out of a copy of the tree, and check that its tests fail.

``ONLY=runner`` takes the guards whose name holds the word, ``QUICK=1`` those whose tests are among
``make test-quick``. Exit code 1 if a mutant survives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

import pytest

from tests.mutants.changes import changed, markers
from tests.mutants.guards import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parent.parent.parent
AT_ONCE = 2  # mutants, each in a copy of the tree
# A mutant may hang, and how a test fails interests nobody.
FAIL_QUICKLY = ("-x", "--timeout=20", "--assert=plain", "-p", "tests.mutants.without_shrinking")


def main() -> int:
    """Give 0 if each mutant was killed, 1 if one survived, 2 if nothing can be said."""
    chosen = [mutant for mutant in MUTANTS if os.environ.get("ONLY", "") in mutant.guard]
    if os.environ.get("QUICK"):
        chosen = _quick(chosen)
    if not chosen:
        print("No such guard. There are:", *(mutant.guard for mutant in MUTANTS), sep="\n  ")
        return 2
    with tempfile.TemporaryDirectory(prefix="paca-mutants-") as folder:
        trees = [Path(folder, str(number)) for number in range(AT_ONCE)]
        for tree in trees:
            _copy_to(tree)
        if not _all_pass(chosen, trees[0]):
            return 2
        survived = _survivors(chosen, trees)
    print(f"{len(chosen) - len(survived)} of {len(chosen)} mutants were killed")
    return int(bool(survived))


def _quick(mutants: Sequence[Mutant]) -> list[Mutant]:
    """The mutants all of whose tests have the marker ``quick``."""
    named = {test for mutant in mutants for test in mutant.tests}
    command = [sys.executable, "-m", "pytest", *sorted(named)]
    command += ["--collect-only", "-q", "-p", "no:cacheprovider"]
    every, quick = (
        subprocess.run([*command, *chosen], cwd=ROOT, capture_output=True, text=True, check=False)
        .stdout.partition("\n\n")[0]
        .splitlines()
        for chosen in ((), ("-m", "quick"))
    )
    slow = set(every) - set(quick)
    return [
        mutant
        for mutant in mutants
        if not mutant.on_services
        and not any(_names(test, node) for node in slow for test in mutant.tests)
    ]


def _names(test: str, node: str) -> bool:
    """Whether ``test``, a file or a test function, is or contains the collected test ``node``."""
    return node == test or node.startswith((f"{test}::", f"{test}["))


def _copy_to(tree: Path) -> None:
    """Copy the files that git knows or would add, as they are in the working tree."""
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
    """Whether the tests pass with every guard in place. Otherwise a failure proves nothing."""
    for on_services in (False, True):
        tests = {
            test for mutant in chosen for test in mutant.tests if mutant.on_services == on_services
        }
        if tests:
            ended = _run([*sorted(tests), "-x", "-n", str(AT_ONCE)], tree, on_services=on_services)
            if ended.returncode != pytest.ExitCode.OK:
                print(ended.stdout, "the tests fail with every guard in place", sep="\n")
                return False
    return True


def _survivors(mutants: Sequence[Mutant], trees: Sequence[Path]) -> list[Mutant]:
    """Try the mutants, one at a time in each tree."""
    free: Queue[Path] = Queue()
    for tree in trees:
        free.put(tree)

    def is_killed(mutant: Mutant) -> bool:
        tree = free.get()
        try:
            return _is_killed(mutant, tree)
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        killed = list(pool.map(is_killed, mutants))
    return [mutant for mutant, dead in zip(mutants, killed, strict=True) if not dead]


def _is_killed(mutant: Mutant, tree: Path) -> bool:
    """Run the tests of the mutant and print its line; gives whether one failed."""
    began = time.monotonic()
    verdict = _verdict(mutant, tree)
    print(f"  {verdict:<20} {time.monotonic() - began:4.0f} s  {mutant.guard}", flush=True)
    return verdict == "killed"


def _verdict(mutant: Mutant, tree: Path) -> str:
    with _without_guard(mutant, tree):
        ended = _run([*mutant.tests, *FAIL_QUICKLY], tree, on_services=mutant.on_services)
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
    arguments: Sequence[str], tree: Path, *, on_services: bool
) -> subprocess.CompletedProcess[str]:
    module = "tests.on_services" if on_services else "pytest"
    command = [sys.executable, "-m", module, *arguments, "-q", "-p", "no:cacheprovider"]
    # In CI a skipped test fails the run, and so does a run of no test.
    environment = {**os.environ, "CI": "true"}
    return subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, check=False
    )


if __name__ == "__main__":
    sys.exit(main())
