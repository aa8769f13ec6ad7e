"""Why the terminal client ends, as exit codes and as errors with a next step."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How ``agent_chat`` ended, for scripts."""

    ANSWERED = 0
    NOT_ANSWERED = 1  # the conversation failed, was stopped or is paused
    WRONG_REQUEST = 2  # a wrong flag, or there is no such project, agent or conversation
    UNREACHABLE = 3
    REFUSED = 4  # the token, or what it may do
    WAITS_FOR_A_PERSON = 5
    INTERRUPTED = 130


class ClientFailure(Exception):
    """The client cannot go on: the cause, what to do next, and the exit code."""

    def __init__(self, exit_code: ExitCode, cause: str, next_step: str = "") -> None:
        super().__init__(cause)
        self.exit_code, self.cause, self.next_step = exit_code, cause, next_step


def token_refused() -> ClientFailure:
    """The server does not know the token."""
    return ClientFailure(
        ExitCode.REFUSED,
        "The server refuses this token: it is unknown, revoked or expired.",
        "make a new one on the server, with: manage.py create_token USER",
    )


def unreachable(url: str, reason: str) -> ClientFailure:
    """Nothing answers at this address."""
    return ClientFailure(
        ExitCode.UNREACHABLE,
        f"Nothing answers at {url}: {reason}.",
        "check --server, and that Paca runs there: manage.py doctor",
    )


def no_paca(url: str) -> ClientFailure:
    """Something else than this version of Paca answers at this address."""
    return ClientFailure(
        ExitCode.UNREACHABLE,
        f"{url} answers, but not as Paca does: it is another program, or a version that this client does not know.",
        "check --server, without a path behind the host; else use the client of the server's version",
    )
