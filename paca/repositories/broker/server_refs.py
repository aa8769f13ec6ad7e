"""What a git server has: its branches with their commits, and which of them are other names of a branch."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from paca.repositories.broker import pkt_line, upstream
from paca.repositories.broker.bodies import BrokenBody, Pieces
from paca.repositories.broker.host_git import HostGit
from paca.repositories.broker.pkt_line import DELIMITER, FLUSH, ProtocolProblem
from paca.repositories.broker.routes import Route
from paca.repositories.broker.upstream import Question, ServerProblem, checked_address

ASK_SECONDS = 60.0
MAX_ANSWER_BYTES = 64 << 20
SYMBOLIC = "symref-target:"
BRANCHES = "refs/heads/"
NOT_UNDERSTOOD = (400, 422, 500, 501)
ANSWER_TYPE = "application/x-git-upload-pack-result"
ADVERTISEMENT = "application/x-git-upload-pack-advertisement"
OBJECT_FORMAT = re.compile(rb"(?:^|[ \0])object-format=(sha1|sha256)\b")
MAX_LINES_BEFORE_FORMAT = 20


@dataclass(frozen=True, slots=True)
class ServerRefs:
    """Refs of a server with their ``commits``. ``symbolic``: those that are another name of a ref, with that ref.

    ``tells_symbolic`` is false for a server with an old protocol, which tells it of HEAD only.
    """

    commits: Mapping[str, str] = field(default_factory=dict)
    symbolic: Mapping[str, str] = field(default_factory=dict)
    tells_symbolic: bool = True

    @property
    def head(self) -> str:
        """The ref that HEAD names; empty if that is unknown."""
        return self.symbolic.get("HEAD", "")

    def in_other_letters(self, ref: str) -> str:
        """A ref that differs from this one in small and capital letters only; empty if there is none."""
        folded = ref.casefold()
        same = (each for each in self.commits if each.casefold() == folded and each != ref)
        return next(same, "")


async def ask(route: Route, git: HostGit, *prefixes: str) -> ServerRefs:
    """HEAD and the refs that begin with the prefixes. Raises ``GitFailed``, ``ServerProblem`` or ``TimeoutError``."""
    async with asyncio.timeout(ASK_SECONDS):
        try:
            return await _ask_version_2(route, prefixes)
        except (ProtocolProblem, BrokenBody, ValueError):
            return await _ask_by_git(route, git, prefixes)


async def object_format(route: Route) -> str:
    """The hash by which the objects of the repository are named: sha1 or sha256. Raises ``ServerProblem``."""
    headers = (("Accept", ADVERTISEMENT), ("Git-Protocol", "version=2"))
    question = Question("GET", "info/refs?service=git-upload-pack", headers)
    answer = await upstream.ask(route, question)
    try:
        if problem := upstream.answer_problem(route, answer, ADVERTISEMENT):
            raise ServerProblem(problem)
        pieces = Pieces(answer.body.pieces())
        for _ in range(MAX_LINES_BEFORE_FORMAT):
            _, text = await pkt_line.read_line(pieces.read_exactly)
            if found := OBJECT_FORMAT.search(text or b""):
                return found[1].decode()
    except (ProtocolProblem, BrokenBody):
        pass  # the list ends without it
    finally:
        answer.close()
    return "sha1"


async def _ask_version_2(route: Route, prefixes: tuple[str, ...]) -> ServerRefs:
    lines = ["symrefs\n", "ref-prefix HEAD\n", *(f"ref-prefix {each}\n" for each in prefixes)]
    body = pkt_line.line(b"command=ls-refs\n") + DELIMITER
    body += b"".join(pkt_line.line(each.encode()) for each in lines) + FLUSH
    headers = (
        ("Accept", ANSWER_TYPE),
        ("Content-Type", "application/x-git-upload-pack-request"),
        ("Git-Protocol", "version=2"),
    )
    answer = await upstream.ask(route, Question("POST", "git-upload-pack", headers, _only(body)))
    try:
        if answer.header("content-encoding") or answer.status in NOT_UNDERSTOOD:
            raise ProtocolProblem("The server does not answer in this way.")
        if problem := upstream.answer_problem(route, answer, ANSWER_TYPE):
            raise ServerProblem(problem)
        return await _read(Pieces(answer.body.pieces()))
    finally:
        answer.close()


async def _only(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def _read(pieces: Pieces) -> ServerRefs:
    commits: dict[str, str] = {}
    symbolic: dict[str, str] = {}
    size = 0
    while True:
        raw, text = await pkt_line.read_line(pieces.read_exactly)
        if text is None:
            return ServerRefs(commits, symbolic)
        size += len(raw)
        # guard: broker-bounded-list-of-refs
        if size > MAX_ANSWER_BYTES:
            raise ServerProblem("The server has too many branches to look through.")
        commit, ref, *more = text.decode("utf-8", "surrogateescape").removesuffix("\n").split(" ")
        if not pkt_line.HASH.match(commit):
            raise ProtocolProblem("The server does not list refs in this way.")
        commits[ref] = commit
        for each in more:
            if each.startswith(SYMBOLIC):
                symbolic[ref] = each.removeprefix(SYMBOLIC)


async def _ask_by_git(route: Route, git: HostGit, prefixes: tuple[str, ...]) -> ServerRefs:
    """The same of a server that speaks an older protocol, or another hash, which git does."""
    printed = await git.run(
        *("ls-remote", "--quiet", "--symref", "--", route.url),
        route=route,
        addresses=await checked_address(route),
        seconds=ASK_SECONDS,
        max_output=MAX_ANSWER_BYTES,
    )
    commits, symbolic = {}, {}
    for each in printed.splitlines():
        value, _, ref = each.partition("\t")
        if ref != "HEAD" and not ref.startswith(prefixes):
            continue
        if value.startswith("ref: "):
            symbolic[ref] = value.removeprefix("ref: ")
        else:
            commits[ref] = value
    return ServerRefs(commits, symbolic, tells_symbolic=False)
