"""The git commands that the tools for repositories run in the sandbox, and what their outputs mean."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass

from paca.engine.tools.formatting import to_one_line, truncate_middle
from paca.engine.workspace import Command, CommandOutcome

MAX_SHOWN_BYTES = 4_000
CHECK_SECONDS = 60.0
MARK = "paca-clone:"
IS_THERE, IS_OTHER = "there", "other"
# It is cloned beside its name and moved there whole: a sandbox that ends meanwhile leaves no half clone.
CLONE = r"""
set -u
name=$1 url=$2 inside=$3 branch=$4 depth=$5
unfinished=.paca-clone-$name
told() {
  printf '\npaca-clone:%s %s %s %s %s\n' "$1" \
    "$(git -C "$name" rev-parse --verify -q HEAD || printf 0)" \
    "$(git -C "$name" symbolic-ref -q --short HEAD || printf -)" \
    "$([ -e "$name/.gitmodules" ] && printf submodules || printf -)" \
    "$(grep -qs 'filter=lfs' "$name/.gitattributes" && printf lfs || printf -)"
}
if [ -e "$name" ] || [ -L "$name" ]; then
  if [ -d "$name/.git" ] && [ "$(git -C "$name" config remote.origin.url)" = "$url" ]; then
    told there; exit 0
  fi
  printf 'paca-clone:other\n'; exit 65
fi
rm -rf -- "$unfinished" || exit 66
set -- clone --progress
[ -z "$branch" ] || set -- "$@" --branch="$branch"
[ "$depth" = 0 ] || set -- "$@" --depth="$depth" --no-single-branch
git -c core.hooksPath=/dev/null -c init.templateDir= "$@" -- "$inside" "$unfinished" || {
  code=$?; rm -rf -- "$unfinished"; exit "$code"
}
git -C "$unfinished" remote set-url origin "$url" && mv -T -- "$unfinished" "$name" || exit 66
told new
"""
# Nothing of the repository's configuration decides what a commit is an ancestor of.
CHECK = r"""
set -u
name=$1 commit=$2 old=$3
export GIT_NO_REPLACE_OBJECTS=1 GIT_GRAFT_FILE=/dev/null
in_clone() { git -c core.commitGraph=false -c core.fsmonitor=false -C "$name" "$@"; }
[ -d "$name/.git" ] || exit 70
in_clone cat-file -e "$commit^{commit}" 2>/dev/null || exit 71
[ -n "$old" ] || exit 0
in_clone cat-file -e "$old^{commit}" 2>/dev/null || exit 72
in_clone merge-base --is-ancestor "$old" "$commit" || exit 73
"""
CHECKS = {
    70: "{name} is not cloned here. Call clone_repository first.",
    71: "The clone has no commit {commit}. Commit your work, and take the hash from git rev-parse HEAD.",
    72: "{branch} has commits on the server that the clone does not have. Run git fetch origin, merge or rebase, and push"
    " the new commit.",
    73: "{branch} has commits on the server that yours does not contain. Run git fetch origin, merge or rebase, and push"
    " the new commit; or push another branch.",
}
PUSH_OPTIONS = (
    *(
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "push.recurseSubmodules=no",
        "-c",
        "push.gpgSign=false",
    ),
    *("-c", "push.followTags=false", "-c", "push.pushOption=", "-c", "credential.helper="),
)
NO_GATE = (
    "The sandbox cannot reach repositories: it was started before one was linked. It can when it starts the next"
    " time, which is a few minutes after the end of this turn."
)
_UNREACHED = re.compile(r"Could not resolve host: repositories\.paca")


@dataclass(frozen=True, slots=True)
class Clone:
    """A clone to make: of ``url``, which the sandbox reaches at ``inside``, into the folder ``name``."""

    name: str
    url: str
    inside: str
    branch: str = ""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Cloned:
    """What is there after a clone. ``was_there``: it was there before. ``branch`` is empty for none."""

    commit: str
    branch: str
    was_there: bool
    has_submodules: bool
    has_lfs: bool


@dataclass(frozen=True, slots=True)
class Push:
    """A push to make. ``old``: where the branch is on the server; empty if it has none."""

    name: str
    inside: str
    branch: str
    commit: str
    old: str


def clone_command(wanted: Clone, call_id: str, seconds: float) -> Command:
    """The command that clones, or finds that it is done."""
    return Command(
        call_id,
        argv=(
            *("/bin/bash", "-c", CLONE, "clone", wanted.name, wanted.url, wanted.inside),
            *(wanted.branch, str(wanted.depth)),
        ),
        timeout_seconds=seconds,
        env={"GIT_TERMINAL_PROMPT": "0"},
    )


def read_clone(outcome: CommandOutcome) -> Cloned | None:
    """What the command found or made; None if it failed."""
    if outcome.exit_code != 0 or outcome.cause:
        return None
    words = outcome.output.rpartition(MARK)[2].split()
    if len(words) != 5:
        return None
    how, commit, branch, submodules, lfs = words
    return Cloned(
        "" if commit == "0" else commit,
        "" if branch == "-" else branch,
        how == IS_THERE,
        submodules != "-",
        lfs != "-",
    )


def describe_clone(wanted: Clone, found: Cloned) -> str:
    """The result in words."""
    at = f", branch {found.branch}" if found.branch else ""
    at += f" at {found.commit[:12]}" if found.commit else ". It is empty"
    verb = "is cloned already" if found.was_there else "is cloned"
    text = f"{wanted.name} {verb}: /workspace/{wanted.name}{at}."
    if found.has_submodules:
        text += (
            " It has submodules, which are not cloned with it: run git submodule update --init for those whose"
            " repositories are linked."
        )
    if found.has_lfs:
        text += " Files of Git LFS are pointers here: their contents are not fetched, and cannot be pushed."
    return text


def clone_problem(outcome: CommandOutcome, wanted: Clone) -> str:
    """Why nothing was cloned, in words for the model."""
    if f"{MARK}{IS_OTHER}" in outcome.output:
        return f"/workspace/{wanted.name} is something else than a clone of {wanted.name}. Move it away, and call again."
    return f"{wanted.name} was not cloned. {_said(outcome)}"


def check_command(wanted: Push, call_id: str) -> Command:
    """The command that checks that the commit is there and follows what the server has."""
    return Command(
        f"{call_id}-check-{uuid.uuid4().hex[:8]}",
        argv=("/bin/bash", "-c", CHECK, "check", wanted.name, wanted.commit, wanted.old),
        timeout_seconds=CHECK_SECONDS,
        env={"GIT_NO_LAZY_FETCH": "1"},
    )


def check_problem(outcome: CommandOutcome, wanted: Push) -> str:
    """Why the commit is not pushed; empty if it can be."""
    if outcome.exit_code == 0 and not outcome.cause:
        return ""
    known = CHECKS.get(outcome.exit_code or 0, "The commit cannot be checked. {said}")
    return known.format(
        name=wanted.name,
        commit=wanted.commit[:12],
        branch=wanted.branch,
        said=to_one_line(_said(outcome)),
    )


def push_command(wanted: Push, call_id: str, seconds: float) -> Command:
    """The command that pushes exactly this commit. It has a new id each time: a push without its grant has failed."""
    refspec = f"{wanted.commit}:refs/heads/{wanted.branch}"
    return Command(
        f"{call_id}-push-{uuid.uuid4().hex[:8]}",
        argv=(
            "git",
            *PUSH_OPTIONS,
            "push",
            "--no-verify",
            "--progress",
            "--",
            wanted.inside,
            refspec,
        ),
        cwd=wanted.name,
        timeout_seconds=seconds,
        env={"GIT_TERMINAL_PROMPT": "0"},
    )


def push_problem(outcome: CommandOutcome) -> str:
    """Why the server does not have the commit, in words for the model."""
    return f"Not pushed. {_said(outcome)}"


def _said(outcome: CommandOutcome) -> str:
    if _UNREACHED.search(outcome.output):
        return NO_GATE
    shown, _ = truncate_middle(outcome.output.strip(), MAX_SHOWN_BYTES)
    how = outcome.cause.replace("_", " ") if outcome.cause else f"exit code {outcome.exit_code}"
    return f"Git ended with {how}. {shown}".strip()
