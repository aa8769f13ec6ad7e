"""SETUP: a worker dies around the setup of a sandbox: what is shared is whole, and what was whole is not made again."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from paca.agents import services as agents
from paca.conversations.models import Conversation, SandboxSetup, SetupState
from tests.chaos import oracle, points
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import DONE, Script
from tests.chaos.testbed import SERVICES, SQLITE, Processes, Testbed
from tests.support.flow import ObservedConversation
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer

# A worker sees at once that another one on its host is dead; on a busy machine no other lease runs out.
LEASE_SECONDS = 30.0
REST_SECONDS = 120
POINTS = tuple(points.SETUP_POINTS)


def cases(testbed: str, *, short: bool) -> Sequence[str]:
    """All points. The short form takes one."""
    if not short:
        return POINTS
    return {SQLITE: ("setup-sent",), SERVICES: ("setup-unstored",)}[testbed]


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    """Run the part."""
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "setup")
        chosen = cases(testbed.name, short=short)
        for number, point in enumerate(chosen):
            _try(point, f"s{number}", testbed, processes, group, report)
            report.progress(f"{number + 1} of {len(chosen)} cases")
        report.figures["cases"] = len(chosen)


def _try(
    point: str,
    mark: str,
    testbed: Testbed,
    processes: Processes,
    group: ConversationGroup,
    report: Report,
) -> None:
    commands = f"echo {mark} > begun; sleep 0.3; echo {mark} > done"
    agents.configure(group.world.agent, by=group.world.owner, setup_commands=commands)
    doomed = processes.worker(**{points.VARIABLE: point})
    look = calls(bash="cat /opt/setup/begun /opt/setup/done")
    observed = group.begin(Script(mark, [look, says(DONE)]))
    if not doomed.wait_until_dead(REST_SECONDS):
        report.fault(f"{point}: the process never came to the point; {observed.status}")
        doomed.kill()
    whole = _ready(group)
    sound = processes.worker()
    group.wait_for_all(REST_SECONDS)
    found = _judge(observed, group, mark, whole) + _unknown_files(testbed)
    sound.kill()
    report.breaches(observed, found, case=f"{point}:")
    testbed.delete_sandbox(observed)


def _ready(group: ConversationGroup) -> list[UUID]:
    """The files of the setups that new sandboxes get."""
    rows = SandboxSetup.objects.filter(project=group.world.project, retired_at=None)
    newest = rows.filter(state=SetupState.READY).order_by("-started_at")
    return list(newest.values_list("files", flat=True))


def _judge(
    observed: ObservedConversation, group: ConversationGroup, mark: str, whole: list[UUID]
) -> list[Breach]:
    found = []
    if observed.status != oracle.ANSWERED:
        found.append(Breach("end", f"it ended as {observed.status}"))
    if not "".join(observed.outputs).startswith(f"{mark}\n{mark}\n"):
        found.append(Breach("setup", f"the sandbox has {observed.outputs}"))
    after = _ready(group)
    done = int(mark[1:]) + 1  # each case has commands of its own
    if len(after) != done:
        found.append(Breach("setup", f"{len(after)} setups are ready instead of {done}"))
    if not set(whole) <= set(after):
        found.append(Breach("setup", "one that was whole was made again"))
    return found


def _unknown_files(testbed: Testbed) -> list[Breach]:
    """A breach if there are files that belong to no row, which nothing would remove soon."""
    stored = {each for files in testbed.sandboxes.list_workspaces().values() for each in files}
    known = set(SandboxSetup.objects.values_list("files", flat=True))
    known |= set(Conversation.objects.values_list("pk", flat=True))
    unknown = stored - known
    return [Breach("setup", f"nobody knows {len(unknown)} folders of files")] if unknown else []
