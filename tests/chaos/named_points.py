"""R2: a worker dies at every named point, in calls of each effect, with and without loss of the sandbox."""

from __future__ import annotations

import http
import http.client
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from paca.conversations.models import Conversation
from tests.chaos import oracle, points
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import DONE, Script, marking_command
from tests.chaos.testbed import SERVICES, TESTBEDS, Processes, Testbed
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 3.0
REST_SECONDS = 60
FILE, OLD, NEW = "note.txt", "the old words", "the new words"

# One call of each effect, made in a workspace that holds ``FILE``.
CALLS = {
    "read_only": calls(read_file=FILE),
    "idempotent": calls(("write_file", {"path": FILE, "content": f"{NEW}\n"})),
    "keyed": calls(("edit_file", {"path": FILE, "old": OLD, "new": NEW})),
    "opaque": None,
}
MAY_REPEAT = ("read_only", "idempotent")
# Only commands have output while they run.
SPEAKS = "opaque"
# At these points the call may have reached the sandbox; without the sandbox its outcome is unknown.
BEGUN = ("intent-stored", "call-sent", "call-answered", "outcome-unstored", "outcome-half-stored")
# In the first step, in which the sandbox is started and the file is written.
ONCE = ("claimed", "sandbox-unrecorded", "turn-unfinished", "turn-half-ended", "turn-ended")


@dataclass(frozen=True)
class Case:
    """The point of death, the effect of the call, and whether the sandbox is lost too."""

    point: str
    effect: str
    gone: bool = False

    def __str__(self) -> str:
        return f"{self.point} {self.effect}{' sandbox gone' if self.gone else ''}"

    @property
    def fault(self) -> str:
        return self.point if self.point in ONCE else f"{self.point}:2"

    @property
    def unknown(self) -> bool:
        """Whether docs/reliability.md promises an unknown outcome and no repetition."""
        return self.gone and self.effect not in MAY_REPEAT


def cases(testbed: str, *, short: bool) -> list[Case]:
    """All cases. The short form takes each point once, half of them on each set-up."""
    if not short:
        return [*_cases_with_sandbox(list(CALLS)), *_cases_without_sandbox(list(CALLS))]
    effects = itertools.cycle(CALLS)
    chosen = [
        *(
            Case(point, SPEAKS if point == "command-speaks" else next(effects))
            for point in points.POINTS
        ),
        *(Case(point, next(effects), gone=True) for point in BEGUN),
    ]
    return chosen[TESTBEDS.index(testbed) :: len(TESTBEDS)]


def _cases_with_sandbox(effects: list[str]) -> Iterator[Case]:
    for point in points.POINTS:
        for effect in [SPEAKS] if point == "command-speaks" else effects:
            yield Case(point, effect)


def _cases_without_sandbox(effects: list[str]) -> Iterator[Case]:
    for point in BEGUN:
        for effect in effects:
            yield Case(point, effect, gone=True)


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "points")
        chosen = cases(testbed.name, short=short)
        for number, case in enumerate(chosen):
            _try(case, number, testbed, processes, group, report)
            report.progress(f"{number + 1} of {len(chosen)} cases")
        _message_whose_server_dies(testbed, processes, group, report)
        report.figures["cases"] = len(chosen) + 1
        if model.violations:
            report.fault(f"the model was asked what no provider accepts: {model.violations[:3]}")


def _try(
    case: Case,
    number: int,
    testbed: Testbed,
    processes: Processes,
    group: ConversationGroup,
    report: Report,
) -> None:
    script = _script_of(case, f"p{number}")
    doomed = processes.worker(**{points.VARIABLE: case.fault})
    observed = group.begin(script)
    if not doomed.wait_until_dead(REST_SECONDS):
        report.fault(
            f"{case}: the process never came to the point; {observed.status} {observed.event_types[-4:]}"
        )
    if case.gone:
        testbed.end_sandboxes()
    sound = processes.worker()
    group.wait_for_all(REST_SECONDS)
    sound.kill()
    report.breaches(observed, _judge(case, observed, script, testbed), case=f"{case}:")
    testbed.delete_sandbox(observed)


def _script_of(case: Case, mark: str) -> Script:
    tested = CALLS[case.effect] or calls(bash=marking_command(f"{mark}.1", seconds=0.5))
    first = calls(bash=f"echo '{OLD}' > {FILE}; {marking_command(f'{mark}.0')}")
    return Script(mark, [says("I begin.") + first, says("I go on.") + tested, says(DONE)])


def _judge(
    case: Case, observed: ObservedConversation, script: Script, testbed: Testbed
) -> list[Breach]:
    found = oracle.judge(observed, script, testbed.effects(observed))
    if observed.status != oracle.ANSWERED:
        found.append(Breach("end", f"it ended as {observed.status}"))
    unknown = observed.event_data("tool.outcome_unknown")
    if len(unknown) != case.unknown:
        found.append(Breach("D3", f"{len(unknown)} calls have an unknown outcome"))
    failed = [each["output"] for each in observed.event_data("tool.returned") if each["failed"]]
    if failed:
        found.append(Breach("D2", f"a call failed that was sound: {failed}"))
    expected = (
        {OLD, NEW} if case.unknown else {OLD} if case.effect in ("read_only", "opaque") else {NEW}
    )
    if (now := testbed.read(observed, FILE).strip()) not in expected:
        found.append(Breach("D2", f"the file holds {now!r}"))
    return found


# --- the web server ---------------------------------------------------------------------------------


def _message_whose_server_dies(
    testbed: Testbed, processes: Processes, group: ConversationGroup, report: Report
) -> None:
    """The server dies after it stored a message; the client sends it again: it is answered once."""
    case, script = points.TRIGGER_STORED, group.add_script(Script("web", [says(DONE)]))
    command = ("up", "--no-worker") if testbed.name == SERVICES else ("up",)
    doomed = processes.start(*command, **{points.VARIABLE: case})
    if (status := _send(doomed.wait_until_ready(), group, script)) or not doomed.wait_until_dead(
        20
    ):
        report.fault(f"{case}: the web server never came to the point and answered {status}")
    sound = processes.start(*command)
    if (status := _send(sound.wait_until_ready(), group, script)) != http.HTTPStatus.CREATED:
        report.fault(f"{case}: sent again, the message is answered with {status}")
    worker = processes.worker() if testbed.name == SERVICES else sound
    begun = [
        ObservedConversation(row.pk)
        for row in Conversation.objects.filter(title__contains=script.mark)
    ]
    for observed in begun:
        _wait_until_answered(observed)
        report.breaches(observed, oracle.judge(observed, script, Counter()), case)
    if len(begun) != 1:
        report.fault(f"{case}: {len(begun)} conversations were begun by one message")
    for process in (worker, sound):
        process.kill()


def _wait_until_answered(observed: ObservedConversation) -> None:
    wait_until(lambda: observed.status == oracle.ANSWERED, REST_SECONDS, lambda: observed.status)


def _send(port: int, group: ConversationGroup, script: Script) -> int:
    """Start a chat over the API with an idempotency key; gives the status, 0 if the connection broke."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {
        "Authorization": f"Bearer {group.token}",
        "Content-Type": "application/json",
        "Idempotency-Key": "sent-twice",
    }
    try:
        connection.request(
            "POST", group.chat_sessions_path, json.dumps({"message": script.first_message}), headers
        )
        return connection.getresponse().status
    except (http.client.HTTPException, OSError):
        return 0
    finally:
        connection.close()
