"""TOOLS: a worker dies at every point around an agent's write on its project; nothing is written twice."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from paca.projects.models import (
    Activity,
    Comment,
    Doc,
    DocVersion,
    KeyedWrite,
    Member,
    Notification,
    Task,
)
from paca.projects.services import docs, tasks
from tests.chaos import oracle, points, variants
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import DONE, Script
from tests.chaos.testbed import TESTBEDS, Processes, Testbed
from tests.chaos.variants import NO_WRITE_KEYS
from tests.support.flow import ObservedConversation
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 3.0
REST_SECONDS = 60
# From the intent to the outcome, in the order of a call.
POINTS = (
    *(name for name in points.POINTS if name.startswith("intent-")),
    *points.WRITE_POINTS,
    *(name for name in points.POINTS if name.startswith("outcome-")),
)


@dataclass(frozen=True)
class Subject:
    """The task and the doc that a case writes to; both have its mark as title. ``member`` is mentioned."""

    mark: str
    task: Task
    doc: Doc
    member: Member


@dataclass(frozen=True)
class Write:
    """A call of a tool, and how often each of its effects has happened; each must be there once."""

    arguments: Callable[[Subject], dict[str, Any]]
    count: Callable[[Subject], dict[str, int]]


def _count_comments(subject: Subject) -> dict[str, int]:
    return {
        "comment": subject.task.comments.count(),
        "mention": Notification.objects.filter(
            task=subject.task, recipient=subject.member.user
        ).count(),
    }


def _count_changes(subject: Subject) -> dict[str, int]:
    done = Task.objects.filter(pk=subject.task.pk, status__name="Done", labels__name=subject.mark)
    changes = Activity.objects.filter(task=subject.task, kind="task.updated")
    return {"change": done.count(), "entry of the timeline": changes.count()}


def _count_new_tasks(subject: Subject) -> dict[str, int]:
    made = Task.objects.filter(title=f"new {subject.mark}")
    entries = Activity.objects.filter(task__in=made, kind="task.created")
    return {"task": made.count(), "entry of the timeline": entries.count()}


def _count_new_docs(subject: Subject) -> dict[str, int]:
    made = Doc.objects.filter(title=f"new {subject.mark}")
    return {"doc": made.count(), "version": DocVersion.objects.filter(doc__in=made).count()}


def _count_appended(subject: Subject) -> dict[str, int]:
    subject.doc.refresh_from_db()
    return {
        "appended text": subject.doc.text.count(f"more {subject.mark}"),
        "new version": subject.doc.version - 1,
    }


WRITES = {
    "add_comment": Write(
        lambda each: {"task": each.task.key, "text": f"Look, @{each.member.handle}."},
        _count_comments,
    ),
    "update_task": Write(
        lambda each: {"task": each.task.key, "status": "Done", "labels": [each.mark]},
        _count_changes,
    ),
    "create_task": Write(lambda each: {"title": f"new {each.mark}"}, _count_new_tasks),
    "create_doc": Write(
        lambda each: {"title": f"new {each.mark}", "text": "Text."}, _count_new_docs
    ),
    "update_doc": Write(
        lambda each: {"doc": each.mark, "append": f"more {each.mark}"}, _count_appended
    ),
}


def cases(testbed: str, *, short: bool) -> list[tuple[str, str]]:
    """Each point with each tool. The short form takes each point once, half of them on each set-up."""
    if not short:
        return list(itertools.product(POINTS, WRITES))
    chosen = list(zip(POINTS, itertools.cycle(WRITES), strict=False))
    return chosen[TESTBEDS.index(testbed) :: len(TESTBEDS)]


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    """Run the part, then a control without keys, in which the count of effects must find a doubled one."""
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "writes")
        chosen = cases(testbed.name, short=short)
        for number, (point, tool) in enumerate(chosen):
            observed, found = _try(f"w{number}", point, tool, processes, group, report)
            report.breaches(observed, found, case=f"{point} {tool}:")
            report.progress(f"{number + 1} of {len(chosen)} cases")
        _, found = _try(
            "control",
            "write-stored",
            "add_comment",
            processes,
            group,
            report,
            variant=NO_WRITE_KEYS,
        )
        if not any("comment: 2" in breach.what for breach in found):
            report.fault("the control without keys doubled nothing: this rig is blind")
        report.figures["cases"] = len(chosen)
        if model.violations:
            report.fault(f"the model was asked what no provider accepts: {model.violations[:3]}")


def _try(
    mark: str,
    point: str,
    tool: str,
    processes: Processes,
    group: ConversationGroup,
    report: Report,
    *,
    variant: str = "",
) -> tuple[ObservedConversation, list[Breach]]:
    """One call whose worker dies at the point; gives what is wrong after the next worker has ended it."""
    given = {variants.VARIABLE: variant} if variant else {}
    subject = _make_subject(group, mark)
    script = _script_of(tool, subject)
    doomed = processes.worker(**{points.VARIABLE: point}, **given)
    observed = group.begin(script)
    if not doomed.wait_until_dead(REST_SECONDS):
        report.fault(f"{point} {tool}: the process never came to the point; {observed.status}")
    sound = processes.worker(**given)
    group.wait_for_all(REST_SECONDS)
    sound.kill()
    return observed, _judge(tool, subject, observed, script)


def _make_subject(group: ConversationGroup, mark: str) -> Subject:
    world = group.world
    return Subject(
        mark,
        tasks.create(world.project, title=mark, by=world.owner),
        docs.create(world.project, title=mark, text="Begin.", by=world.owner),
        world.owner,
    )


def _script_of(tool: str, subject: Subject) -> Script:
    call = calls((tool, WRITES[tool].arguments(subject)))
    return Script(subject.mark, [says("I write.") + call, says(DONE)])


def _judge(
    tool: str, subject: Subject, observed: ObservedConversation, script: Script
) -> list[Breach]:
    found = oracle.judge_log(observed, script)
    if observed.status != oracle.ANSWERED:
        found.append(Breach("end", f"it ended as {observed.status}"))
    if observed.has_event("tool.outcome_unknown"):
        found.append(Breach("D3", "a call with a key has an unknown outcome"))
    failed = [each["output"] for each in observed.event_data("tool.returned") if each["failed"]]
    if failed:
        found.append(Breach("D2", f"a call failed that was sound: {failed}"))
    counts = {**WRITES[tool].count(subject), "key": _count_keys(observed)}
    found += [
        Breach("D3", f"{effect}: {count} instead of 1")
        for effect, count in counts.items()
        if count != 1
    ]
    unnamed = Comment.objects.filter(task=subject.task).exclude(conversation_id=observed.id)
    if unnamed.exists():
        found.append(Breach("trace", "a comment does not name its conversation"))
    return found


def _count_keys(observed: ObservedConversation) -> int:
    return KeyedWrite.objects.filter(key__startswith=f"{observed.id}:").count()
