"""RACE: each message that arrives while a turn ends is answered once."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

from paca.conversations.models import Event
from tests.chaos import oracle
from tests.chaos.api_client import ApiClient
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.report import Report
from tests.chaos.scripts import Script
from tests.chaos.testbed import Testbed
from tests.support.flow import ObservedConversation
from tests.support.model_script import Scripted, says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 3.0
CONVERSATIONS, MESSAGES = 10, 20
ANSWER_MS = 150
AROUND_SECONDS, STEP_SECONDS = 0.05, 0.015
WAIT_SECONDS = 60


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    chance, conversations = random.Random(seed), 1 if short else CONVERSATIONS
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "racing")
        workers = [processes.worker() for _ in range(testbed.workers)]
        ports = [worker.wait_until_ready() for worker in workers]
        client = ApiClient(processes.port or ports[0], group)
        within = 0
        for number in range(conversations):
            report.progress(f"{number} of {conversations} conversations")
            asked = threading.Semaphore(0)

            def reply(_: dict[str, Any], asked: threading.Semaphore = asked) -> Scripted:
                asked.release()
                return says("Yes.").slowly(ftd=ANSWER_MS)

            model.script(reply)
            observed = group.begin(Script(f"race-{number}", []))
            _race(observed, client, asked, chance)
            group.wait_for_all(WAIT_SECONDS)
            within += _judge(observed, model, report)
        report.figures["messages"] = conversations * MESSAGES
        report.figures[f"of them within {1000 * AROUND_SECONDS:.0f} ms of the end of a turn"] = (
            within
        )


def _race(
    observed: ObservedConversation,
    client: ApiClient,
    asked: threading.Semaphore,
    chance: random.Random,
) -> None:
    """Send each message around the moment in which an answer is stored.

    That moment depends on the machine: after a message that came too late the next is sent earlier.
    """
    pause = ANSWER_MS / 1000
    for number in range(MESSAGES):
        if not asked.acquire(timeout=WAIT_SECONDS):
            raise AssertionError(f"message {number} is not answered: {observed.event_types[-5:]}")
        time.sleep(max(0.0, pause + chance.uniform(-AROUND_SECONDS, AROUND_SECONDS) / 2))
        seq = client.send(observed, _text(number))
        before = Event.objects.get(conversation=observed.id, seq=seq - 1)
        came_late = before.type == "agent.conversation.finished"
        pause += -STEP_SECONDS if came_late else STEP_SECONDS


def _text(number: int) -> str:
    return f"message number {number:03}"


def _judge(observed: ObservedConversation, model: ModelServer, report: Report) -> int:
    """Report faults; gives how many messages arrived close to the end of a turn."""
    found = []
    if observed.status != oracle.ANSWERED:
        found.append(oracle.Breach("D5", f"it ended as {observed.status}"))
    read = max(each["seen_seq"] for each in observed.event_data("usage.recorded"))
    received = Event.objects.filter(conversation=observed.id, type="agent.message.received")
    if unread := received.filter(seq__gt=read).count():
        found.append(oracle.Breach("D5", f"{unread} messages were never shown to the model"))
    last = str(model.requests[-1].body["messages"])
    for number in range(MESSAGES):
        if last.count(_text(number)) != 1:
            found.append(
                oracle.Breach(
                    "D5", f"the model reads message {number} {last.count(_text(number))} times"
                )
            )
    if model.violations:
        found.append(oracle.Breach("history", str(model.violations[:3])))
    report.breaches(observed, found)
    return _around_an_end(observed)


def _around_an_end(observed: ObservedConversation) -> int:
    """How many messages were stored close to the end of a turn, before or after it."""
    rows = Event.objects.filter(conversation=observed.id).order_by("seq")
    ends = list(rows.filter(type="agent.turn.finished").values_list("at", flat=True))
    came = rows.filter(type="agent.message.received").values_list("at", flat=True)
    return sum(
        any(abs((at - end).total_seconds()) <= AROUND_SECONDS for end in ends) for at in came
    )
