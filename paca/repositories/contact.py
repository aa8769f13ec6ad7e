"""Tests a repository: asks its server for the default branch now, and stores what became of it."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

from paca.common import clock
from paca.common.errors import PacaError
from paca.repositories.credentials import header_for
from paca.repositories.hosts import open_host
from paca.repositories.hosts.client import ApiClient
from paca.repositories.hosts.errors import GitServerFailed
from paca.repositories.models import GitServerKind, Repository
from paca.repositories.services import repositories

MAX_SECONDS = 15.0
# A test waits for another server: many at once would occupy the slots of requests.
_SLOTS = threading.BoundedSemaphore(2)
QUEUE_TIMEOUT_SECONDS = 5.0
BUSY = "Other connections are being tested. Try again in a minute."


@dataclasses.dataclass(frozen=True, slots=True)
class RepositoryCheck:
    """What became of a test. ``code`` is empty if it worked."""

    works: bool
    detail: str
    code: str = ""
    default_branch: str = ""
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """All facts by name."""
        return dataclasses.asdict(self)


def run(repository: Repository) -> RepositoryCheck:
    """Ask the server of the repository, and store how it was found. A failure is in the result and not raised."""
    if not _SLOTS.acquire(timeout=QUEUE_TIMEOUT_SECONDS):
        return RepositoryCheck(False, BUSY, "busy")
    began = clock.monotonic()
    try:
        branch = _ask(repository)
    except PacaError as error:
        repositories.report(repository, problem=error.detail)
        return RepositoryCheck(False, error.detail, error.code)
    finally:
        _SLOTS.release()
    repositories.report(repository, default_branch=branch)
    said = f"Works: its default branch is {branch}." if branch else "Works."
    return RepositoryCheck(True, said, "", branch, clock.monotonic() - began)


def _ask(repository: Repository) -> str:
    """The default branch; empty if only the broker can tell it. Raises the errors of ``hosts.errors``."""
    connection = repository.connection
    if connection is None or connection.kind == GitServerKind.GIT:
        _ask_git(repository)
        return ""
    host = open_host(repository, seconds=MAX_SECONDS)
    branch = host.default_branch()
    repositories.report_account(connection, host.account())
    return branch


def _ask_git(repository: Repository) -> None:
    """Ask a server without an API for its branches. Raises the errors of ``hosts.errors``."""
    credential = header_for(repository)
    headers = {"Accept": "*/*"}
    if credential.header_value:
        headers["Authorization"] = credential.header_value
    client = ApiClient(repository.url, headers, MAX_SECONDS)
    answer = client.get("/info/refs", service="git-upload-pack")
    # guard: git-server-answers-as-one
    if not answer.is_git:
        raise GitServerFailed("There is no git repository at this address.")
