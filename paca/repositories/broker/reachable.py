"""What a mirror may give: objects that the refs of the server reach, as they are now.

Git gives by its hash whatever object is there (protocol 2). So a mirror has a mark as long as its refs reach everything in
it. A branch that was forced or deleted takes the mark away; then only the commits of refs are given, with what they
reach, until the mirror was pruned.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from paca.repositories.broker import host_git
from paca.repositories.broker.host_git import GitFailed, HostGit

MARK = "only-reachable"
TAGS = "refs/tags/"
ASK_SECONDS = 60.0


def is_pruned(mirror: Path) -> bool:
    """Whether the refs of a mirror reach all of its objects."""
    return (mirror / MARK).exists()


def note_pruned(mirror: Path) -> None:
    """Give the mirror its mark."""
    (mirror / MARK).touch()


@asynccontextmanager
async def updating(git: HostGit, mirror: Path) -> AsyncIterator[None]:
    """Change the refs of a mirror. The mark is away meanwhile, and afterwards if an object may have become unreachable."""
    was_pruned = is_pruned(mirror)
    (mirror / MARK).unlink(missing_ok=True)
    before, packs = await refs(git, mirror), _packs(mirror)
    try:
        yield
    except (GitFailed, OSError):
        if was_pruned and packs == _packs(mirror) and before == await refs(git, mirror):
            note_pruned(mirror)
        raise
    # guard: mirror-knows-what-was-forced-away
    if was_pruned and not await _has_lost(git, mirror, before):
        note_pruned(mirror)


def _packs(mirror: Path) -> set[str]:
    return {path.name for path in (mirror / "objects" / "pack").glob("*.pack")}


async def refs(git: HostGit, mirror: Path) -> dict[str, str]:
    """The refs of a mirror with what each names. Raises ``GitFailed`` or ``TimeoutError``."""
    printed = await git.run(
        f"--git-dir={mirror}",
        "for-each-ref",
        "--format=%(objectname) %(refname)",
        seconds=ASK_SECONDS,
    )
    lines = (line.partition(" ") for line in printed.splitlines())
    return {ref: named for named, _, ref in lines}


async def _has_lost(git: HostGit, mirror: Path, before: Mapping[str, str]) -> bool:
    """Whether the refs do not reach all that they reached before."""
    now = set((await refs(git, mirror)).values())
    gone = {ref: named for ref, named in before.items() if named not in now}
    if not gone:
        return False
    # A tag has an object of its own, which no commit leads to.
    if any(ref.startswith(TAGS) for ref in gone):
        return True
    printed = await git.read(
        *(f"--git-dir={mirror}", "rev-list", "--max-count=1", "--stdin", "--not", "--all"),
        given="\n".join(gone.values()).encode() + b"\n",
        max_output=host_git.MAX_OUTPUT_BYTES,
        seconds=ASK_SECONDS,
    )
    return bool(printed)


async def has_all(git: HostGit, mirror: Path, objects: Sequence[str]) -> bool:
    """Whether a mirror has all of these objects. Raises ``GitFailed`` or ``TimeoutError``."""
    printed = await git.read(
        *(f"--git-dir={mirror}", "cat-file", "--buffer", "--batch-check=%(objecttype)"),
        given="\n".join(objects).encode() + b"\n",
        max_output=host_git.MAX_OUTPUT_BYTES,
        seconds=ASK_SECONDS,
    )
    return b"missing" not in printed


async def may_give(git: HostGit, mirror: Path, objects: Sequence[str]) -> bool:
    """Whether the refs reach these objects, which the mirror has. False where only the server can say it."""
    # guard: mirror-gives-what-refs-reach
    return is_pruned(mirror) or set(objects) <= set((await refs(git, mirror)).values())


async def prune(git: HostGit, mirror: Path, *, lock: int, seconds: float) -> None:
    """Remove what no ref reaches. Raises ``GitFailed`` or ``TimeoutError``."""
    await git.run(
        *(f"--git-dir={mirror}", "repack", "--quiet", "-a", "-d"),
        seconds=seconds,
        inherited=(lock,),
    )
    note_pruned(mirror)
