"""REPOSITORY: a worker dies around a clone or a push: there is one whole clone and one branch, and nothing is pushed unapproved."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from django.db import DatabaseError

from paca.conversations.models import PersonRequest, RequestState
from paca.conversations.services import approvals
from paca.repositories.models import Repository
from tests.chaos import oracle, points
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.fork_server import Process
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import DONE, Script
from tests.chaos.testbed import SERVICES, SQLITE, Processes, Testbed
from tests.support.flow import ObservedConversation, wait_until
from tests.support.git_server import GitServer, git
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer

# A worker sees at once that another one on its host is dead; on a busy machine no other lease runs out.
LEASE_SECONDS = 30.0
REST_SECONDS = 120
CLONE = ("intent-stored", "call-sent", "call-answered", "outcome-unstored", "outcome-half-stored")
# A pull request needs the API of a git server: tests/flows/test_pull_requests.py kills there.
PUSH = tuple(name for name in points.PUSH_POINTS if name.startswith("push-"))
POINTS = (*CLONE, "outcome-stored", "decision-half-taken", *PUSH, "push-asked:2")
NAME = "shop"
DATES = {"GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z"}
COMMIT = (
    f"cd {NAME} && "
    + " ".join(f"{key}={value}" for key, value in DATES.items())
    + " git commit -q --allow-empty -m {} && git status --short"
)


def cases(testbed: str, *, short: bool) -> Sequence[str]:
    """All points. The short form takes some."""
    if not short:
        return POINTS
    return {SQLITE: ("call-sent", "push-sent"), SERVICES: ("push-allowed", "push-asked:2")}[testbed]


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    """Run the part."""
    with (
        tempfile.TemporaryDirectory() as folder,
        GitServer(Path(folder), header="") as server,
        ModelServer() as model,
        testbed.processes(
            report.traces,
            lease_seconds=LEASE_SECONDS,
            PRIVATE_GIT_SERVERS=f"127.0.0.1:{server.port}",
        ) as processes,
    ):
        server.create(NAME, {"README.md": b"hello\n" * 1000})
        group = ConversationGroup(model, "repository")
        Repository.objects.create(
            project=group.world.project, name=NAME, url=server.url(NAME), default_branch="main"
        )
        chosen = cases(testbed.name, short=short)
        for number, point in enumerate(chosen):
            _try(point, f"g{number}", testbed, processes, group, server, report)
            report.progress(f"{number + 1} of {len(chosen)} cases")
        report.figures["cases"] = len(chosen)


def _commit(server: GitServer, group: ConversationGroup, mark: str) -> str:
    """The hash that the commit of the conversation has, as it has no other time than this one."""
    agent = group.world.agent
    bare = str(server.root / f"{NAME}.git")
    author = {"GIT_AUTHOR_NAME": agent.git_name, "GIT_AUTHOR_EMAIL": agent.git_email}
    committer = {"GIT_COMMITTER_NAME": agent.git_name, "GIT_COMMITTER_EMAIL": agent.git_email}
    return git(
        *("-C", bare, "commit-tree", "-p", "main", "-m", mark, "main^{tree}"),
        env={**author, **committer, **DATES},
    )


def _script(mark: str, commit: str) -> Script:
    push = {"repository": NAME, "branch": mark, "commit": commit}
    return Script(
        mark,
        [
            calls(clone_repository={"name": NAME}),
            calls(bash=COMMIT.format(mark)),
            calls(push_branch=push),
            says(DONE),
        ],
    )


def _try(
    point: str,
    mark: str,
    testbed: Testbed,
    processes: Processes,
    group: ConversationGroup,
    server: GitServer,
    report: Report,
) -> None:
    commit = _commit(server, group, mark)
    before = server.refs(NAME)
    doomed = processes.worker(**{points.VARIABLE: point})
    observed = group.begin(_script(mark, commit))
    found = []
    if not _wait(doomed, observed, group):
        report.fault(f"{point}: the process never came to the point; {observed.status}")
        doomed.kill()
    if server.refs(NAME) != before and not observed.has_event("approval.given"):
        found.append(Breach("D7", "a branch was pushed before anybody approved it"))
    sound = processes.worker()
    wait_until(lambda: _is_done(observed, group), REST_SECONDS, lambda: str(observed.event_types))
    if observed.status != oracle.ANSWERED:
        found.append(Breach("end", f"it ended as {observed.status}: {observed.outputs}"))
    group.wait_for_all(REST_SECONDS)
    found += _judge(observed, testbed, server, before, mark, commit)
    sound.kill()
    report.breaches(observed, found, case=f"{point}:")
    testbed.delete_sandbox(observed)


def _wait(doomed: Process, observed: ObservedConversation, group: ConversationGroup) -> bool:
    """Wait until the process is dead; what it asks a person meanwhile is approved."""
    for _ in range(REST_SECONDS):
        if doomed.wait_until_dead(1):
            return True
        if _is_done(observed, group):
            return False
    return False


def _is_done(observed: ObservedConversation, group: ConversationGroup) -> bool:
    """Whether the conversation has ended. An approval that is asked for is given."""
    open_requests = PersonRequest.objects.filter(conversation=observed.id, state=RequestState.OPEN)
    for request in open_requests:
        try:
            approvals.decide(
                observed.row, call_id=request.call_id, decision="approve", by=group.world.owner
            )
        except DatabaseError:  # a process that is dying holds the lock
            return False
    return observed.status.split("/")[0] in ("finished", "failed", "paused", "stopped")


def _judge(
    observed: ObservedConversation,
    testbed: Testbed,
    server: GitServer,
    before: dict[str, str],
    mark: str,
    commit: str,
) -> list[Breach]:
    found = []
    pushed = {ref: value for ref, value in server.refs(NAME).items() if before.get(ref) != value}
    if pushed != {f"refs/heads/{mark}": commit}:
        found.append(Breach("push", f"the server has {pushed} instead of one branch at {commit}"))
    for kind in ("repository.cloned", "repository.pushed"):
        if len(observed.event_data(kind)) != 1:
            found.append(Breach("log", f"{kind} is {len(observed.event_data(kind))} times in it"))
    look = f"cd /workspace && ls -A && git -C {NAME} fsck --no-dangling 2>&1 | grep -c -e missing -e broken; true"
    inside = testbed.run_inside(observed, look).split()
    if f".paca-clone-{NAME}" in inside or NAME not in inside or inside[-1] != "0":
        found.append(Breach("clone", f"the workspace has {inside}"))
    return found
