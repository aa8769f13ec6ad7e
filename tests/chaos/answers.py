"""ANSWERS: a worker dies between the final answer of an agent and its comment; it is posted once."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from paca.conversations.models import Conversation
from paca.projects.models import Comment, KeyedWrite, Member, Notification, Task
from paca.projects.services import comments, tasks
from tests.chaos import oracle, points, variants
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import Script
from tests.chaos.testbed import TESTBEDS, Processes, Testbed
from tests.chaos.variants import ANSWERS_AFTER_THE_COMMIT
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_script import says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 3.0
REST_SECONDS = 60
# From the final answer to the end of the turn, in the order of the transaction that ends it.
POINTS = ("turn-unfinished", *points.ANSWER_POINTS, "turn-half-ended", "turn-ended")


def _assign(task: Task, agent: Member, by: Member) -> None:
    tasks.assign(task, to=agent, by=by)


def _mention(task: Task, agent: Member, by: Member) -> None:
    comments.add(task, text=f"@{agent.handle}, please.", by=by)


CAUSES: dict[str, Callable[[Task, Member, Member], None]] = {
    "assignment": _assign,
    "mention": _mention,
}


def cases(testbed: str, *, short: bool) -> list[tuple[str, str]]:
    """Each point with each cause. The short form takes the points of the comment, one on each set-up."""
    if not short:
        return list(itertools.product(POINTS, CAUSES))
    chosen = list(zip(points.ANSWER_POINTS, CAUSES, strict=True))
    return chosen[TESTBEDS.index(testbed) :: len(TESTBEDS)]


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    """Run the part, then a control that posts after the commit, in which a comment must be missed."""
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "answers")
        chosen = cases(testbed.name, short=short)
        for number, (point, cause) in enumerate(chosen):
            observed, found = _try(f"a{number}", point, cause, processes, group, report)
            report.breaches(observed, found, case=f"{point} {cause}:")
            report.progress(f"{number + 1} of {len(chosen)} cases")
        _, found = _try(
            "control",
            "answer-unposted",
            "assignment",
            processes,
            group,
            report,
            variant=ANSWERS_AFTER_THE_COMMIT,
        )
        if not any("comment: 0" in breach.what for breach in found):
            report.fault("the control that posts after the commit lost nothing: this rig is blind")
        report.figures["cases"] = len(chosen)
        if model.violations:
            report.fault(f"the model was asked what no provider accepts: {model.violations[:3]}")


def _try(
    mark: str,
    point: str,
    cause: str,
    processes: Processes,
    group: ConversationGroup,
    report: Report,
    *,
    variant: str = "",
) -> tuple[ObservedConversation, list[Breach]]:
    """One task whose worker dies at the point; gives what is wrong after the next worker has ended it."""
    given = {variants.VARIABLE: variant} if variant else {}
    world = group.world
    script = group.add_script(Script(mark, [says(f"The answer to {mark}.")]))
    task = tasks.create(world.project, title=script.first_message, by=world.owner)
    doomed = processes.worker(**{points.VARIABLE: point}, **given)
    CAUSES[cause](task, Member.objects.with_names().get(agent=world.agent), world.owner)
    observed = group.watch(_conversation_on(task), script)
    if not doomed.wait_until_dead(REST_SECONDS):
        report.fault(f"{point} {cause}: the process never came to the point; {observed.status}")
    sound = processes.worker(**given)
    group.wait_for_all(REST_SECONDS)
    sound.kill()
    return observed, _judge(task, observed, script)


def _conversation_on(task: Task) -> ObservedConversation:
    found = Conversation.objects.filter(task=task)
    wait_until(found.exists, REST_SECONDS)
    return ObservedConversation(found.get().pk)


def _judge(task: Task, observed: ObservedConversation, script: Script) -> list[Breach]:
    found = oracle.judge_log(observed, script)
    if observed.status != oracle.ANSWERED:
        found.append(Breach("end", f"it ended as {observed.status}"))
    (text,) = script.expected_texts
    posted = Comment.objects.filter(task=task, author__kind=Member.Kind.AGENT)
    told = Notification.objects.filter(task=task, kind="finished")
    counts = {
        "comment": posted.count(),
        "comment with the answer and its conversation": posted.filter(
            text=text, conversation_id=observed.id
        ).count(),
        "notification": told.count(),
        "note of the answer": KeyedWrite.objects.filter(
            key__startswith=f"answer:{observed.id}:"
        ).count(),
    }
    found += [
        Breach("D3", f"{effect}: {count} instead of 1")
        for effect, count in counts.items()
        if count != 1
    ]
    return found
