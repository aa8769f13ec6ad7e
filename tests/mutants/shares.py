"""The share of the mutants that one run of CI tries: those near recent changes, and some of the others by commit."""

import hashlib
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.mutants.changes import markers
from tests.mutants.guards import Mutant

RECENT = 20  # commits


def share(mutants: Sequence[Mutant], parts: int, root: Path) -> list[Mutant]:
    """The mutants whose guard or tests stand in recently changed files, and one of ``parts`` parts of the others.

    Those near changes come first. Each commit has another part and another order. Without enough history it is all
    mutants. Prints what it has chosen.
    """
    commit = _git(root, "rev-parse", "HEAD").strip()
    # The working tree counts too.
    changed = {*_git(root, "diff", "--name-only", f"HEAD~{RECENT}").splitlines()}
    if not changed:
        print(f"Share: all mutants, since git has no {RECENT} commits here")
        return [*mutants]
    near = _near(mutants, changed, root)
    others = [mutant for mutant in mutants if not near(mutant)]
    part = {mutant.guard for mutant in others if in_part(mutant.guard, commit, parts)}
    print(
        f"Share: {len(mutants) - len(others)} mutants in files that the last {RECENT} commits changed, and "
        f"{len(part)} of {len(others)} others by commit {commit[:8]}; without SHARE it is all",
        flush=True,
    )
    found = [mutant for mutant in mutants if near(mutant) or mutant.guard in part]
    return sorted(found, key=lambda each: (not near(each), number_of(each.guard, commit)))


def in_part(guard: str, commit: str, parts: int) -> bool:
    """Whether the run for this commit tries the guard."""
    return number_of(guard, commit) % parts == 0


def number_of(guard: str, commit: str) -> int:
    """The place of the guard in the order of this commit."""
    digest = hashlib.sha256(f"{commit} {guard}".encode()).digest()
    return int.from_bytes(digest[:8])


def _near(mutants: Sequence[Mutant], changed: set[str], root: Path) -> Callable[[Mutant], bool]:
    files = {guard: str(file.relative_to(root)) for guard, file in markers(root)}

    def near(mutant: Mutant) -> bool:
        tests = {test.partition("::")[0] for test in mutant.tests}
        return not changed.isdisjoint({files[mutant.guard], *tests})

    return near


def _git(root: Path, *arguments: str) -> str:
    """What git prints; nothing if it fails."""
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    return done.stdout
