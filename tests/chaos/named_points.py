"""R2: the end at every named point, for calls of each effect, with the sandbox alive and with it gone too."""

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
from tests.chaos.cast import Cast
from tests.chaos.ground import GROUNDS, SERVICES, Ground, Team
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.stories import DONE, Story, leaves
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
# Only a command says something while it runs.
SPEAKS = "opaque"
# Whoever dies here has asked the sandbox for it, or may have: with the sandbox gone nobody can tell.
BEGUN = ("intent-stored", "call-sent", "call-answered", "outcome-unstored", "outcome-half-stored")
# In the first step, which makes the workspace: the sandbox is started, the file is written.
ONCE = ("claimed", "sandbox-unrecorded", "turn-unfinished", "turn-half-ended", "turn-ended")


@dataclass(frozen=True)
class Case:
    """Where it dies, in which call, and whether the sandbox goes as well."""

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
        """What docs/reliability.md says of it: told as unknown, and not done again."""
        return self.gone and self.effect not in MAY_REPEAT


def cases(ground: str, *, short: bool) -> list[Case]:
    """All of them. The short form takes each point once, half of them on each ground."""
    if not short:
        return [*_alive(list(CALLS)), *_gone(list(CALLS))]
    effects = itertools.cycle(CALLS)
    chosen = [
        *(
            Case(point, SPEAKS if point == "command-speaks" else next(effects))
            for point in points.POINTS
        ),
        *(Case(point, next(effects), gone=True) for point in BEGUN),
    ]
    return chosen[GROUNDS.index(ground) :: len(GROUNDS)]


def _alive(effects: list[str]) -> Iterator[Case]:
    for point in points.POINTS:
        for effect in [SPEAKS] if point == "command-speaks" else effects:
            yield Case(point, effect)


def _gone(effects: list[str]) -> Iterator[Case]:
    for point in BEGUN:
        for effect in effects:
            yield Case(point, effect, gone=True)


def run(ground: Ground, report: Report, *, seed: int, short: bool) -> None:
    with ModelServer() as model, ground.team(report.traces, lease_seconds=LEASE_SECONDS) as team:
        cast = Cast(model, "points")
        chosen = cases(ground.name, short=short)
        for number, case in enumerate(chosen):
            _try(case, number, ground, team, cast, report)
            report.progress(f"{number + 1} of {len(chosen)} cases")
        _message_whose_server_dies(ground, team, cast, report)
        report.figures["cases"] = len(chosen) + 1
        if model.violations:
            report.fault(f"the model was asked what no provider accepts: {model.violations[:3]}")


def _try(case: Case, number: int, ground: Ground, team: Team, cast: Cast, report: Report) -> None:
    story = _story(case, f"p{number}")
    doomed = team.worker(**{points.VARIABLE: case.fault})
    told = cast.begin(story)
    if not doomed.wait_until_dead(REST_SECONDS):
        report.fault(
            f"{case}: the process never came to the point; {told.status} {told.event_types[-4:]}"
        )
    if case.gone:
        ground.end_sandboxes()
    sound = team.worker()
    cast.wait_for_all(REST_SECONDS)
    sound.kill()
    report.breaches(told, _judge(case, told, story, ground), case=f"{case}:")
    ground.forget(told)


def _story(case: Case, mark: str) -> Story:
    tested = CALLS[case.effect] or calls(bash=leaves(f"{mark}.1", seconds=0.5))
    first = calls(bash=f"echo '{OLD}' > {FILE}; {leaves(f'{mark}.0')}")
    return Story(mark, [says("I begin.") + first, says("I go on.") + tested, says(DONE)])


def _judge(case: Case, told: ObservedConversation, story: Story, ground: Ground) -> list[Breach]:
    found = oracle.judge(told, story, ground.effects(told))
    if told.status != oracle.ANSWERED:
        found.append(Breach("end", f"it ended as {told.status}"))
    unknown = told.event_data("tool.outcome_unknown")
    if len(unknown) != case.unknown:
        found.append(Breach("D3", f"{len(unknown)} calls have an unknown outcome"))
    failed = [each["output"] for each in told.event_data("tool.returned") if each["failed"]]
    if failed:
        found.append(Breach("D2", f"a call failed that was sound: {failed}"))
    expected = (
        {OLD, NEW} if case.unknown else {OLD} if case.effect in ("read_only", "opaque") else {NEW}
    )
    if (now := ground.read(told, FILE).strip()) not in expected:
        found.append(Breach("D2", f"the file holds {now!r}"))
    return found


# --- the web server ---------------------------------------------------------------------------------


def _message_whose_server_dies(ground: Ground, team: Team, cast: Cast, report: Report) -> None:
    """The message is stored, its sender never hears of it and sends it again: it is answered once."""
    case, story = points.TRIGGER_STORED, cast.know(Story("web", [says(DONE)]))
    command = ("up", "--no-worker") if ground.name == SERVICES else ("up",)
    doomed = team.start(*command, **{points.VARIABLE: case})
    if (status := _send(doomed.wait_until_ready(), cast, story)) or not doomed.wait_until_dead(20):
        report.fault(f"{case}: the web server never came to the point and answered {status}")
    sound = team.start(*command)
    if (status := _send(sound.wait_until_ready(), cast, story)) != http.HTTPStatus.CREATED:
        report.fault(f"{case}: sent again, the message is answered with {status}")
    worker = team.worker() if ground.name == SERVICES else sound
    begun = [
        ObservedConversation(row.pk)
        for row in Conversation.objects.filter(title__contains=story.mark)
    ]
    for told in begun:
        _wait_until_answered(told)
        report.breaches(told, oracle.judge(told, story, Counter()), case)
    if len(begun) != 1:
        report.fault(f"{case}: {len(begun)} conversations were begun by one message")
    for process in (worker, sound):
        process.kill()


def _wait_until_answered(told: ObservedConversation) -> None:
    wait_until(lambda: told.status == oracle.ANSWERED, REST_SECONDS, lambda: told.status)


def _send(port: int, cast: Cast, story: Story) -> int:
    """Begin the chat over the API, with a key; the status, 0 if the connection broke."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {
        "Authorization": f"Bearer {cast.token}",
        "Content-Type": "application/json",
        "Idempotency-Key": "sent-twice",
    }
    try:
        connection.request("POST", cast.chats, json.dumps({"message": story.opening}), headers)
        return connection.getresponse().status
    except (http.client.HTTPException, OSError):
        return 0
    finally:
        connection.close()
