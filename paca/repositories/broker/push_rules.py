"""Which pushes are passed on: one branch, to the commit that a person approved, from where the server has it now."""

from __future__ import annotations

from paca.repositories.broker.pkt_line import Command, CommandList
from paca.repositories.broker.routes import Grant, Route
from paca.repositories.broker.server_refs import BRANCHES, ServerRefs

HOW_TO_PUSH = "Push with the tool push_branch, which asks a person where that is needed."
# What git says of itself; other words give orders to the server.
CAPABILITIES = frozenset(
    {
        *("report-status", "report-status-v2", "side-band", "side-band-64k", "quiet", "atomic"),
        *("ofs-delta", "delete-refs", "agent", "object-format", "session-id"),
    }
)
ANOTHER = "Push another branch and open a pull request."


def push_problem(found: CommandList, grants: list[Grant]) -> str:
    """Why the push is refused whatever the server has, as a sentence with the next step; empty if it is not.

    ``grants``: those of this conversation and repository.
    """
    # guard: broker-one-ref-in-a-push
    if len(found.commands) != 1:
        return f"Push one branch at a time. {HOW_TO_PUSH}"
    command = found.commands[0]
    # guard: broker-no-branch-is-deleted
    if command.is_deletion:
        return "Branches are not deleted from here. Ask a person to do it on the server."
    # Servers take orders by options: Gitea makes a repository public, GitLab merges.
    # guard: broker-no-push-options
    if any(each.partition("=")[0] not in CAPABILITIES for each in found.capabilities):
        return f"Options of a push are not passed on. Remove push.pushOption. {HOW_TO_PUSH}"
    # guard: broker-only-branches
    if not command.ref.startswith(BRANCHES):
        return f"Only branches are pushed from here, and {_shown(command.ref)} is none."
    return _problem_of_grants(command, grants)


def _problem_of_grants(command: Command, grants: list[Grant]) -> str:
    same_ref = [grant for grant in grants if grant.ref == command.ref]
    # guard: broker-push-needs-a-grant
    if not same_ref:
        return f"Nothing allows a push to {_shown(command.ref)} now. {HOW_TO_PUSH}"
    # guard: broker-push-of-the-granted-commit
    if not any(grant.new == command.new for grant in same_ref):
        return f"Commit {command.new[:12]} is not the one that may be pushed. {HOW_TO_PUSH}"
    # guard: broker-push-from-the-known-commit
    if not any(grant.new == command.new and grant.old == command.old for grant in same_ref):
        return "The branch has changed on the server meanwhile. Fetch it, merge, and push again."
    return ""


def server_problem(ref: str, route: Route, refs: ServerRefs) -> str:
    """Why a branch is not pushed to, given what the server has; empty if it may be. ``refs``: all of its branches."""
    if not route.allow_default_branch:
        if not refs.head and not route.default_branch and refs.commits:
            return "The default branch of the repository is not known. A person can set it."
        # guard: broker-default-branch
        if _is_default(ref, route, refs):
            return f"{_shown(ref)} is the default branch. {ANOTHER}"
    # A push through another name changes a branch that nobody has approved.
    # guard: broker-no-symbolic-ref
    if ref in refs.symbolic:
        return f"{_shown(ref)} is another name of {_shown(refs.symbolic[ref])} on the server. {ANOTHER}"
    # guard: broker-maybe-symbolic-ref
    if not refs.tells_symbolic and ref != refs.head and _is_where_default_is(ref, refs):
        return f"{_shown(ref)} may be another name of the default branch: it has the same commit. {ANOTHER}"
    # Some servers take Fix and fix for one file.
    # guard: broker-no-branch-in-other-letters
    if other := refs.in_other_letters(ref):
        return f"There is a branch {_shown(other)}, which servers may take for the same. Push a branch of another name."
    return ""


def is_granted(found: CommandList, grants: list[Grant]) -> bool:
    """Whether the only command of a push is still allowed by one of the grants."""
    wanted = [(each.ref, each.old, each.new) for each in found.commands]
    return len(wanted) == 1 and wanted[0] in {(each.ref, each.old, each.new) for each in grants}


def _is_where_default_is(ref: str, refs: ServerRefs) -> bool:
    commit = refs.commits.get(ref)
    return commit is not None and commit == refs.commits.get("HEAD")


def _is_default(ref: str, route: Route, refs: ServerRefs) -> bool:
    """Whether a push to this ref changes the default branch: some servers take Main and main for one file."""
    return ref.casefold() in {each.casefold() for each in _defaults(route, refs.head)}


def _defaults(route: Route, head: str) -> set[str]:
    stored = BRANCHES + route.default_branch if route.default_branch else ""
    # In an empty repository the first branch of one of these names becomes the default.
    likely = () if head else (f"{BRANCHES}main", f"{BRANCHES}master")
    return {ref for ref in (head, stored, *likely) if ref}


def _shown(ref: str) -> str:
    text = ref.removeprefix(BRANCHES)
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in text)[:100]
