"""Why the gate refuses a request, and what an agent can do about it."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """The reasons in the list of connections; empty is none."""

    NONE = ""
    CLOSED = "closed"
    NOT_LISTED = "not_listed"
    ADDRESS = "address"
    NAME = "name"
    PORT = "port"
    SCHEME = "scheme"
    METHOD = "method"
    HOST_DIFFERS = "host_differs"
    MALFORMED = "malformed"
    PRIVATE = "private"
    UNRESOLVED = "unresolved"
    UNREACHABLE = "unreachable"
    NOT_TLS = "not_tls"
    SNI_DIFFERS = "sni_differs"
    TOO_MANY = "too_many"
    BUDGET = "budget"
    SLOW = "slow"
    RESTARTED = "restarted"


# Each is one line of ASCII: it also stands in the status line of the answer, which most programs show.
SENTENCES: dict[Reason, str] = {
    Reason.CLOSED: "This sandbox has no network. Work without it, or ask a person to open it in the settings.",
    Reason.NOT_LISTED: (
        "{host} is not on the list of hosts of this project. Use a host that is, or ask a person to add it "
        "to the network settings of the project."
    ),
    Reason.ADDRESS: "Addresses such as {host} are not allowed. Use the name of the host.",
    Reason.NAME: "{host} is no name of a public host. Check how it is written.",
    Reason.PORT: "Port {port} is not allowed. Use https on port 443, or http on port 80.",
    Reason.SCHEME: "Only http:// and https:// work here. Use one of them.",
    Reason.METHOD: "Only GET and HEAD without a body work over http://. Use https:// for the rest.",
    Reason.HOST_DIFFERS: "The Host header names another host than the address. Send the same in both.",
    Reason.MALFORMED: "The request is no valid request to a proxy. Use http_proxy and https_proxy as they are set.",
    Reason.PRIVATE: (
        "{host} resolves to an address in a private network. Use a public host, or ask the operator of this "
        "server to list it."
    ),
    Reason.UNRESOLVED: "The name {host} cannot be resolved. Check how it is written, or try again later.",
    Reason.UNREACHABLE: "{host} does not answer. Try again later.",
    Reason.NOT_TLS: "Only TLS goes through a tunnel to {host}. Use https://, and http:// without a tunnel.",
    Reason.SNI_DIFFERS: "TLS was begun for another host than {host}. Connect to each host by its own name.",
    Reason.TOO_MANY: "Too many connections are open at once. Wait until some have ended.",
    Reason.BUDGET: (
        "This conversation has used up what it may transfer. Work with what is there, or go on in a new conversation."
    ),
    Reason.SLOW: "The request did not arrive in time. Send it again.",
    Reason.RESTARTED: "The gate was started again, which cut a connection to {host}. Run the command again.",
}


def sentence(reason: Reason, host: str = "", port: int = 0) -> str:
    """The reason in words, with the next step. ``host`` may be anything that the agent has sent."""
    shown = "".join(c if c.isascii() and c.isprintable() else "?" for c in host)[:100]
    return SENTENCES[reason].format(host=shown or "The host", port=port)
