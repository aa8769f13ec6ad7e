"""What workers tell the broker: where a repository is, and which pushes are allowed now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit
from uuid import UUID

from paca.repositories.broker.pkt_line import Command, CommandList

HOST = "repositories.paca"
DEFAULT_PORTS = {"https": 443, "http": 80}
HOW_TO_PUSH = "Push with the tool push_branch, which asks a person where that is needed."


@dataclass(frozen=True, slots=True)
class Route:
    """The way to one repository for one conversation. ``header``: the value of ``Authorization``; empty for none.

    ``mirror`` names the copy on this machine, which has one name for each address and credential; empty for none.
    ``private`` are servers in private networks that the operator allows, ``ca_file`` certificates that count besides
    those of the system. ``default_branch`` may be empty; it is pushed to only with ``allow_default_branch``.
    """

    url: str
    header: str = field(default="", repr=False)
    name: str = ""
    mirror: str = ""
    default_branch: str = ""
    allow_default_branch: bool = False
    private: tuple[str, ...] = ()
    ca_file: str = ""

    @property
    def address(self) -> SplitResult:
        """The parts of the address."""
        return urlsplit(self.url)

    @property
    def server(self) -> tuple[str, int]:
        """Host and port."""
        found = self.address
        return (found.hostname or "").lower(), found.port or DEFAULT_PORTS[found.scheme]

    def to_fields(self) -> dict[str, Any]:
        """The route as JSON can carry it."""
        return asdict(self)

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Route:
        """The route that ``to_fields`` gave; fields of a newer version are ignored. Raises ``KeyError`` or ``TypeError``."""
        known = {name: fields[name] for name in cls.__slots__ if name in fields}
        return cls(**{**known, "private": tuple(known.get("private", ()))})


@dataclass(frozen=True, slots=True)
class Grant:
    """One push that is allowed: of this commit to this ref, which is at ``old`` now (zeros if it does not exist)."""

    conversation_id: UUID
    repository_id: UUID
    ref: str
    old: str
    new: str


def push_problem(found: CommandList, grants: list[Grant], route: Route, head: str) -> str:
    """Why the push is refused, as a sentence with the next step; empty if it is allowed.

    ``grants``: those of this conversation and repository. ``head``: the ref that HEAD of the server names; empty if
    that is unknown.
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
    if any(each.startswith("push-") for each in found.capabilities):
        return f"Options of a push are not passed on. Remove push.pushOption. {HOW_TO_PUSH}"
    return _problem_of_ref(command.ref, route, head) or _problem_of_grants(command, grants)


def _problem_of_ref(ref: str, route: Route, head: str) -> str:
    # guard: broker-only-branches
    if not ref.startswith("refs/heads/"):
        return f"Only branches are pushed from here, and {_shown(ref)} is none."
    # guard: broker-default-branch
    if not route.allow_default_branch and _is_default(ref, route, head):
        return f"{_shown(ref)} is the default branch. Push another branch and open a pull request."
    return ""


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


def is_granted(found: CommandList, grants: list[Grant]) -> bool:
    """Whether the only command of a push is still allowed by one of the grants."""
    wanted = [(each.ref, each.old, each.new) for each in found.commands]
    return len(wanted) == 1 and wanted[0] in {(each.ref, each.old, each.new) for each in grants}


def _is_default(ref: str, route: Route, head: str) -> bool:
    """Whether a push to this ref changes the default branch: some servers take Main and main for one file."""
    return ref.casefold() in {each.casefold() for each in _defaults(route, head)}


def _defaults(route: Route, head: str) -> set[str]:
    if (
        not head and not route.default_branch
    ):  # an empty repository: the first branch becomes the default
        return {"refs/heads/main", "refs/heads/master"}
    stored = f"refs/heads/{route.default_branch}" if route.default_branch else ""
    return {ref for ref in (head, stored) if ref}


def _shown(ref: str) -> str:
    text = ref.removeprefix("refs/heads/")
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in text)[:100]
