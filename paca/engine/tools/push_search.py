"""Looks for known secrets in what a push would send: messages, authors, names of files and added lines of its commits.

It is a net and no wall: a program in the sandbox can change a secret so that no list of forms knows it.
"""

from __future__ import annotations

import asyncio
import functools
import re
import uuid
from dataclasses import dataclass

from paca.common.secret_removal import SecretMask, mask_of
from paca.engine.tools.formatting import to_one_line
from paca.engine.tools.repository_commands import Push
from paca.engine.workspace import Command, SandboxWorkspace

SEARCH_SECONDS = 120.0
MAX_SEARCHED_BYTES = 16 << 20
NOT_SEARCHED = (
    "Not pushed: its new commits cannot be searched for secrets. Is the clone whole? Try again."
)
FOUND_ONE = (
    "Not pushed: {} holds a secret that Paca keeps. Take it out of every new commit (git commit --amend, git rebase), and"
    " push the new commit. If the value may be public, a person can store it as one that is no secret."
)
ONLY_BEGINNING = (
    f"Only the first {MAX_SEARCHED_BYTES >> 20} MiB of its changes were searched for secrets."
)
# A merge shows only what it adds to its parents. Neither attributes nor the configuration of the clone hide a file.
NEW_COMMITS = r"""
set -u -o pipefail
name=$1 commit=$2 old=$3 limit=$4
export GIT_NO_REPLACE_OBJECTS=1 GIT_GRAFT_FILE=/dev/null
in_clone() {
  git -c core.commitGraph=false -c core.fsmonitor=false -c core.quotePath=false -c diff.noprefix=false -C "$name" "$@"
}
new_commits() {
  set -- "$commit"
  [ -z "$old" ] || set -- "$@" "^$old"
  in_clone rev-list "$@" --not --remotes
}
new_commits | in_clone diff-tree --stdin --root -r -c -p -U0 -M --always --text --no-ext-diff --no-textconv --no-color --pretty=raw |
  head -c "$limit"
codes=("${PIPESTATUS[@]}")
[ "${codes[0]}" -eq 0 ] || [ "${codes[0]}" -eq 141 ] || exit 74
# git ends with 141 when head has read enough.
[ "${codes[1]}" -eq 0 ] || [ "${codes[1]}" -eq 141 ] || exit 74
"""
PARTS = re.compile(rb"^(?=diff --|commit [0-9a-f]{40})", re.MULTILINE)
INDENT_OF_MESSAGE = re.compile(rb"^    ", re.MULTILINE)
# The change of a file has one column of marks, that of a merge one for each parent.
HUNK = re.compile(rb"^(@@+) -", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Found:
    """What the search found. ``secret_in``: the first place with a secret; empty for none. ``cut``: there was more to
    search than ``MAX_SEARCHED_BYTES``. ``failed``: nothing can be said.
    """

    secret_in: str = ""
    cut: bool = False
    failed: bool = False

    @property
    def problem(self) -> str:
        """Why nothing is pushed, in words for the model; empty if it may be."""
        if self.failed:
            return NOT_SEARCHED
        # guard: pushes-hold-no-secret
        return FOUND_ONE.format(self.secret_in) if self.secret_in else ""

    @property
    def remark(self) -> str:
        """What the result of the push says besides."""
        return ONLY_BEGINNING if self.cut else ""


async def search(
    workspace: SandboxWorkspace, wanted: Push, call_id: str, mask: SecretMask
) -> Found:
    """Search what the commits add that the server does not have. Raises what workspaces raise."""
    secrets = mask_of(mask.secrets)
    if not secrets:
        return Found()
    try:
        async with asyncio.timeout(SEARCH_SECONDS):
            data = await _read_new(workspace, wanted, call_id)
            if data is None:
                return Found(failed=True)
            # The search takes a second or two for the largest push.
            place = await asyncio.to_thread(find_secret, data, secrets)
    except TimeoutError:
        return Found(failed=True)
    return Found(place, cut=len(data) >= MAX_SEARCHED_BYTES)


async def _read_new(workspace: SandboxWorkspace, wanted: Push, call_id: str) -> bytes | None:
    """The new commits as git shows them; None if it cannot. They come by a pipe, whose output nobody else sees."""
    given = (wanted.name, wanted.commit, wanted.old, str(MAX_SEARCHED_BYTES))
    pipe = await workspace.open_pipe(
        Command(
            f"{call_id}-search-{uuid.uuid4().hex[:8]}",
            argv=("/bin/bash", "-c", NEW_COMMITS, "search", *given),
            env={"GIT_NO_LAZY_FETCH": "1"},
        )
    )
    data = bytearray()
    try:
        while part := await pipe.receive():
            data += part
            if len(data) > MAX_SEARCHED_BYTES:  # the sandbox is not believed
                return bytes(data)
        outcome = await pipe.outcome()
    finally:
        await pipe.close()
    return bytes(data) if outcome.exit_code == 0 and not outcome.cause else None


def find_secret(data: bytes, secrets: SecretMask) -> str:
    """Where the first secret stands in new commits, as git shows them, in words; empty if there is none."""
    commit = ""
    places = [found.start() for found in PARTS.finditer(data)]
    for start, end in zip([0, *places], [*places, len(data)], strict=True):
        part = data[start:end]
        head = part[:1000].split(b"\n", 1)[0].decode(errors="replace")
        is_commit = head.startswith("commit ")
        commit = head.split()[1][:12] if is_commit else commit
        if secrets.text(text := _added(part, is_commit=is_commit)) != text:
            name = to_one_line(secrets.text(head)).removeprefix("diff ").lstrip("-")
            return f"commit {commit} ({'message or author' if is_commit else name})"
    return ""


@functools.cache
def _marks(columns: int) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """A removed line, and the marks of an added one, in the change of a file with so many columns of marks."""
    removed = rb"^(?=[ -]{%d}) *-.*\n?" % columns
    return re.compile(removed, re.MULTILINE), re.compile(rb"^[+ ]{%d}" % columns, re.MULTILINE)


def _added(part: bytes, *, is_commit: bool) -> str:
    """What a commit or the change of a file adds, without git's marks: a secret of many lines stands as it is."""
    if is_commit:
        bare = INDENT_OF_MESSAGE.sub(b"", part)
    else:
        hunk = HUNK.search(part)
        removed, mark = _marks(len(hunk[1]) - 1 if hunk else 1)
        bare = mark.sub(b"", removed.sub(b"", part))
    return bare.decode("utf-8", "surrogateescape")
