"""What workers tell the broker: where a repository is, and which pushes are allowed now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit
from uuid import UUID

HOST = "repositories.paca"
DEFAULT_PORTS = {"https": 443, "http": 80}


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
