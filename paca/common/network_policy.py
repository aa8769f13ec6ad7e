"""What the sandbox of one conversation may reach, as its worker tells the gate."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from paca.common.host_names import ANY_HOST, is_host_name, is_pattern, matches

MAX_HOSTS = 200


class Network(StrEnum):
    """Which network a sandbox has: none, the hosts that its project allows, or all public hosts."""

    NONE = "none"
    RESTRICTED = "restricted"
    OPEN = "open"


# The hosts that installing packages needs. A mirror that only serves files is no way to send much out;
# GitHub is one, because anybody may write there.
PRESETS: dict[str, tuple[str, ...]] = {
    "python": ("pypi.org", "files.pythonhosted.org"),
    "npm": ("registry.npmjs.org", "registry.yarnpkg.com"),
    "debian": ("deb.debian.org", "security.debian.org"),
    "ubuntu": ("archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"),
    "rust": ("crates.io", "index.crates.io", "static.crates.io", "static.rust-lang.org"),
    "go": ("proxy.golang.org", "sum.golang.org"),
    "github": (
        "github.com",
        "api.github.com",
        "codeload.github.com",
        "raw.githubusercontent.com",
        "objects.githubusercontent.com",
        "release-assets.githubusercontent.com",
    ),
}


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """``hosts``: names and ``*.`` patterns; ``network`` decides whether they count. ``private``: servers in private
    networks that the operator allows, as ``host:port``. ``max_bytes``, both ways together, and ``max_requests`` are
    those of the conversation."""

    network: Network = Network.NONE
    hosts: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    max_bytes: int = 4 << 30
    max_requests: int = 20_000

    def allows_host(self, host: str) -> bool:
        """Whether the conversation may reach the host by its name."""
        if self.network is Network.OPEN:
            return True
        # guard: egress-network-none
        if self.network is not Network.RESTRICTED:
            return False
        return self.lists_host(host)

    def lists_host(self, host: str) -> bool:
        """Whether the project lists the host, or a pattern for it."""
        return any(matches(host, pattern) for pattern in self.hosts)

    def to_json(self) -> str:
        """The policy as the gate reads it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> EgressPolicy:
        """The policy that ``to_json`` wrote. Raises ``ValueError`` for anything else."""
        try:
            fields: dict[str, Any] = json.loads(text)
            policy = cls(
                network=Network(fields["network"]),
                hosts=tuple(fields["hosts"]),
                private=tuple(fields["private"]),
                max_bytes=int(fields["max_bytes"]),
                max_requests=int(fields["max_requests"]),
            )
        except (TypeError, LookupError) as error:
            raise ValueError(f"no policy: {error}") from error
        if not all(isinstance(host, str) for host in (*policy.hosts, *policy.private)):
            raise ValueError("no policy: a host is no text")
        return policy


CLOSED = EgressPolicy()


def narrower(wanted: str, ceiling: str) -> Network:
    """The network of an agent that wants one, in a project that allows at most the other."""
    order = list(Network)
    # guard: egress-ceiling-of-the-project
    return min(Network(wanted), Network(ceiling), key=order.index)


def hosts_of(presets: tuple[str, ...], hosts: tuple[str, ...]) -> tuple[str, ...]:
    """The hosts of the presets and the others together, each once, in order. A preset that is gone counts for none."""
    named = [host for preset in presets for host in PRESETS.get(preset, ())]
    return tuple(dict.fromkeys([*named, *hosts]))


def private_server_problem(entry: str) -> str:
    """Why the entry of ``PRIVATE_PACKAGE_SERVERS`` could have no effect, as a sentence; empty if it has one."""
    host, _, port = entry.rpartition(":")
    if not (port == "*" or (port.isascii() and port.isdigit() and 0 < int(port) < 65536)):
        return f"{entry} is not host:port or host:*."
    if not is_host_name(host.lower()):
        return (
            f"{host} is no name that sandboxes may reach. Give the server a full name such as mirror.example.org: "
            "addresses, short names and those of local networks (.local, .lan, .internal, .corp) do not work."
        )
    return ""


def host_problem(text: str) -> str:
    """Why the text cannot stand in a list of allowed hosts, as a sentence with the next step; empty if it can."""
    if text == ANY_HOST:
        return "A star alone means every host. Choose the network open for that."
    if not text.isascii():
        return f"{text} has letters beyond ASCII. Write the name in its xn-- form."
    if not is_pattern(text):
        return (
            f"{text} is no name of a public host. Write a name such as example.org or *.example.org, "
            "without http://, port or path; addresses are not allowed."
        )
    return ""
