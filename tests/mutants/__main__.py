"""``make mutants``: take each guard out of a copy of the tree, and check that its tests fail.

``ONLY=runner`` takes the guards whose name holds the word, ``QUICK=1`` those whose tests are among
``make test-quick``, ``SHARE=4`` the quarter of this commit (``tests/mutants/shares.py``), those near recent changes
first. ``MINUTES=15`` begins none after that time. Exit code 1 if a mutant survives.
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

from tests.mutants.changes import changed, function_of, markers
from tests.mutants.forking import names
from tests.mutants.guards import MUTANTS, Mutant
from tests.mutants.shares import share
from tests.mutants.tester import FAIL_QUICKLY, PATIENT, Tester

ROOT = Path(__file__).resolve().parent.parent.parent
AT_ONCE = 2  # mutants, each in a copy of the tree


def main() -> int:
    """Give 0 if each mutant was killed, 1 if one survived, 2 if nothing can be said."""
    chosen = [mutant for mutant in MUTANTS if os.environ.get("ONLY", "") in mutant.guard]
    if parts := os.environ.get("SHARE"):
        chosen = share(chosen, int(parts), ROOT)
    if os.environ.get("QUICK"):
        chosen = _quick(chosen)
    if not chosen:
        print("No such guard. There are:", *(mutant.guard for mutant in MUTANTS), sep="\n  ")
        return 2
    until = time.monotonic() + 60 * float(os.environ.get("MINUTES") or "inf")
    with tempfile.TemporaryDirectory(prefix="paca-mutants-") as folder:
        trees = [Path(folder, str(number)) for number in range(AT_ONCE)]
        for tree in trees:
            _copy_to(tree)
        tests = {test for mutant in chosen if not mutant.on_services for test in mutant.tests}
        with Tester(trees[0], tests) as one, Tester(trees[1], tests) as other:
            killed = try_all(chosen, [one, other], until)
    for_want_of_time = f"; {left} others were not tried" if (left := killed.count(None)) else ""
    print(f"{killed.count(True)} of {len(killed) - left} mutants were killed{for_want_of_time}")
    return int(False in killed)


def _quick(mutants: Sequence[Mutant]) -> list[Mutant]:
    """The mutants all of whose tests have the marker ``quick``."""
    named = {test for mutant in mutants for test in mutant.tests}
    command = [sys.executable, "-m", "pytest", *sorted(named), "-m", "not quick"]
    command += ["--collect-only", "-q", "-p", "no:cacheprovider"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        raise RuntimeError(f"The tests cannot be collected:\n{listed.stdout}{listed.stderr}")
    slow = [line for line in listed.stdout.splitlines() if "::" in line]
    return [
        mutant
        for mutant in mutants
        if not mutant.on_services
        and not any(names(test, node) for node in slow for test in mutant.tests)
    ]


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


def try_all(
    mutants: Sequence[Mutant], testers: Sequence[Tester], until: float
) -> list[bool | None]:
    """Try the mutants in order, one at a time in each tree; gives whether each was killed, and None for those that were
    left when it was ``until`` on the monotonic clock.
    """
    free: Queue[Tester] = Queue()
    for tester in testers:
        free.put(tester)

    def is_killed(mutant: Mutant) -> bool | None:
        tester = free.get()
        try:
            return _is_killed(mutant, tester) if time.monotonic() < until else None
        finally:
            free.put(tester)

    with ThreadPoolExecutor(len(testers)) as pool:
        return list(pool.map(is_killed, mutants))


def _is_killed(mutant: Mutant, tester: Tester) -> bool:
    """Run the tests of the mutant and print its line; gives whether one failed."""
    began = time.monotonic()
    verdict = _verdict(mutant, tester)
    print(f"  {verdict:<20} {time.monotonic() - began:4.0f} s  {mutant.guard}", flush=True)
    return verdict == "killed"


def _verdict(mutant: Mutant, tester: Tester) -> str:
    """A fork is quick, but has imported the modules before the change: only its failure is a verdict."""
    if not mutant.on_services and tester.passes(mutant.tests):
        with _without_guard(mutant, tester.tree) as (file, function):
            if (
                function
                and tester.run(mutant.tests, file, function) == pytest.ExitCode.TESTS_FAILED
            ):
                return "killed"
    whole = _run(mutant, tester.tree, *PATIENT)
    with _without_guard(mutant, tester.tree):
        ended = _run(mutant, tester.tree, *FAIL_QUICKLY)
    if whole != pytest.ExitCode.OK:
        return f"NO VERDICT: the tests end with {whole} with every guard in place"
    if ended == pytest.ExitCode.TESTS_FAILED:
        return "killed"
    return "SURVIVED" if ended == pytest.ExitCode.OK else f"NO VERDICT ({ended})"


@contextmanager
def _without_guard(mutant: Mutant, tree: Path) -> Iterator[tuple[Path, str]]:
    """Change the file; gives it and the name of the changed function."""
    file = dict(markers(tree))[mutant.guard]
    source = file.read_text(encoding="utf-8")
    file.write_text(changed(source, mutant.guard, mutant.change), encoding="utf-8")
    try:
        yield file, function_of(source, mutant.guard)
    finally:
        file.write_text(source, encoding="utf-8")


def _run(mutant: Mutant, tree: Path, *options: str) -> int:
    """The exit code of the mutant's tests in a process of their own."""
    module = "tests.on_services" if mutant.on_services else "pytest"
    command = [sys.executable, "-m", module, *mutant.tests, *options]
    command += ["-q", "-p", "no:cacheprovider"]
    # In CI a skipped test fails the run, and so does a run of no test.
    environment = {**os.environ, "CI": "true"}
    return subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
