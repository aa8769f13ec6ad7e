"""R7: whatever is put in, by whichever door, ends as the table says, and nobody else is harmed by it."""

from __future__ import annotations

from paca.conversations.models import Trigger
from tests.chaos import bad_inputs, doors
from tests.chaos.bad_inputs import Row, differs
from tests.chaos.cast import Cast
from tests.chaos.doors import OF_REDIS, Scene, Seen
from tests.chaos.ground import SQLITE, Ground, Team
from tests.chaos.report import Report
from tests.chaos.stories import DONE, Story
from tests.support.model_script import says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 3.0
MOST_MIB = 600
LIMITS = {"SANDBOX_MEMORY_MIB": "512"}


def run(ground: Ground, report: Report, *, seed: int, short: bool) -> None:
    with (
        ModelServer() as model,
        ground.team(report.traces, lease_seconds=LEASE_SECONDS, **LIMITS) as team,
    ):
        cast = Cast(model, "poison")
        before = _kept(ground)  # of parts before this one, until the ground is cleared
        ports = [w.wait_until_ready() for w in [team.worker() for _ in range(ground.workers)]]
        target = cast.begin(Story("target", [says(DONE)]))
        cast.wait_for_all(doors.WAIT_SECONDS)
        scene = Scene(ground, cast, team.port or ports[0], report, target)
        held = total = 0
        for name, rows in _groups(ground, short=short).items():
            report.say(f"{name}: {len(rows)}")
            held += _judge(rows, doors.DOORS[name](rows, scene), report)
            total += len(rows)
            _look_around(name, team, scene)
        _look_for_leftovers(scene, before)
        if model.violations:
            report.fault(f"the model was asked what no provider accepts: {model.violations[:3]}")
        report.figures["rows that held"] = f"{held} of {total}"
        report.figures["the largest process has"] = f"{team.largest_mib:.0f} MiB"
        report.figures["a neighbour is answered within"] = f"{max(scene.waits):.1f} s"


def _groups(ground: Ground, *, short: bool) -> dict[str, list[Row]]:
    found = {
        name: [row for row in rows if row.short or not short]
        for name, rows in bad_inputs.DOORS.items()
        if ground.name != SQLITE or name not in OF_REDIS
    }
    return {name: rows for name, rows in found.items() if rows}


def _judge(rows: list[Row], seen: list[Seen], report: Report) -> int:
    """How many rows held."""
    wrong = [text for row, one in zip(rows, seen, strict=True) if (text := differs(row, one))]
    for text in wrong:
        report.fault(text)
    return len(rows) - len(wrong)


def _look_around(name: str, team: Team, scene: Scene) -> None:
    """After each group: work goes on, nobody has died, and nobody has failed unheard."""
    scene.ask_a_neighbour()
    for log in team.dead:
        scene.report.fault(f"{name}: a process has died, see {log}")
    if team.largest_mib > MOST_MIB:
        scene.report.fault(f"{name}: a process has grown to {team.largest_mib:.0f} MiB")
    for line in team.complaints[scene.complaints :]:
        scene.complaints += 1
        scene.report.fault(f"{name}: logged as an error: {line[:300]} ... {line[-600:]}")


def _kept(ground: Ground) -> set[str]:
    """What there are files of."""
    return {str(one) for each in ground.sandboxes.kept().values() for one in each}


def _look_for_leftovers(scene: Scene, before: set[str]) -> None:
    if left := _kept(scene.ground) - before:
        scene.report.fault(f"sandboxes are left of {sorted(left)}")
    if waiting := Trigger.objects.filter(state__in=("new", "claimed")).count():
        scene.report.fault(f"{waiting} triggers are left in the inbox")
