"""The oracle: checks each promise of docs/reliability.md on the log, the tables and the sandbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from paca.conversations.models import Event, Trigger
from tests.chaos.scripts import EFFECT, Script
from tests.support.flow import ObservedConversation, assert_replay_matches

OUTCOMES = ("agent.tool.returned", "agent.tool.outcome_unknown")
ANSWERED = "finished/answered"


@dataclass(frozen=True)
class Breach:
    """A promise that was broken, by its name in docs/reliability.md."""

    promise: str
    what: str

    def __str__(self) -> str:
        return f"{self.promise}: {self.what}"


def judge(observed: ObservedConversation, script: Script, effects: Counter[str]) -> list[Breach]:
    """Every broken promise of an ended conversation; ``effects`` are the marks in its workspace."""
    return [*judge_log(observed, script), *_check_effects(observed.frames, effects)]


def judge_log(observed: ObservedConversation, script: Script) -> list[Breach]:
    """Every broken promise that shows in the log and the tables."""
    frames = observed.frames
    return [
        *_check_numbers(observed),
        *_check_epochs(observed),
        *_check_outcomes(frames),
        *_check_texts(observed, script, frames),
        *_check_triggers(observed, frames),
        *_check_state(observed),
    ]


def judge_calls(observed: ObservedConversation, requests: Counter[str]) -> list[Breach]:
    """Every model call without a row; ``requests`` are those that the server has received, by model."""
    rows = observed.row.model_calls.all()
    # The server reads the name without its provider.
    booked = Counter(each.split("/", 1)[-1] for each in rows.values_list("model", flat=True))
    found = [
        Breach("calls", f"{model} was asked {times} times, and {booked[model]} calls are booked")
        for model, times in requests.items()
        if times > booked[model]
    ]
    known = {str(pk).replace("-", "") for pk in rows.values_list("pk", flat=True)}
    usage = [each["call_id"] for each in observed.event_data("usage.recorded")]
    if len(usage) != len(set(usage)) or not known.issuperset(usage):
        found.append(Breach("calls", f"the log has the usage of {usage}, the table {known}"))
    return found


def _check_numbers(observed: ObservedConversation) -> Iterator[Breach]:
    seqs = list(
        Event.objects.filter(conversation=observed.id).order_by("seq").values_list("seq", flat=True)
    )
    if seqs != list(range(1, observed.row.last_seq + 1)):
        yield Breach(
            "D1", f"events are numbered {seqs}, the last should be {observed.row.last_seq}"
        )


def _check_epochs(observed: ObservedConversation) -> Iterator[Breach]:
    rows = Event.objects.filter(conversation=observed.id).order_by("seq")
    epochs = list(rows.values_list("epoch", flat=True))
    if epochs != sorted(epochs):
        yield Breach("D7", f"a worker wrote after it had been superseded: epochs {epochs}")


def _check_outcomes(frames: list[dict[str, Any]]) -> Iterator[Breach]:
    ended: Counter[str] = Counter()
    for frame in frames:
        call = frame["data"].get("call_id", "")
        if frame["type"] in OUTCOMES:
            ended[call] += 1
        elif frame["type"] == "agent.tool.started" and ended[call]:
            yield Breach("D2", f"call {call} was started again after its outcome")
    for frame in _payloads(frames, "agent.tool.called"):
        if ended[frame["call_id"]] != 1:
            yield Breach("D2", f"call {frame['call_id']} has {ended[frame['call_id']]} outcomes")


def _check_effects(frames: list[dict[str, Any]], effects: Counter[str]) -> Iterator[Breach]:
    """Effects are counted in the sandbox: the log of a call that ran twice looks like any other."""
    whole = {
        each["call_id"] for each in _payloads(frames, "agent.tool.returned") if not each["failed"]
    }
    known = set()
    for call in _payloads(frames, "agent.tool.called"):
        for mark in EFFECT.findall(str(call["arguments"].get("command", ""))):
            known.add(mark)
            if effects[mark] > 1:
                yield Breach("D3", f"{mark} happened {effects[mark]} times")
            if effects[mark] == 0 and call["call_id"] in whole:
                yield Breach("D2", f"{mark} is reported as done and never happened")
    for mark in effects.keys() - known:
        yield Breach("D3", f"{mark} happened, and no call in the log asks for it")


def _check_texts(
    observed: ObservedConversation, script: Script, frames: list[dict[str, Any]]
) -> Iterator[Breach]:
    said = [each["text"] for each in _payloads(frames, "agent.message.spoken")]
    if observed.status == ANSWERED and said != script.expected_texts:
        yield Breach("D4", f"the agent said {said} instead of {script.expected_texts}")


def _check_triggers(
    observed: ObservedConversation, frames: list[dict[str, Any]]
) -> Iterator[Breach]:
    turns = _payloads(frames, "agent.turn.started")
    if [turn["number"] for turn in turns] != list(range(1, len(turns) + 1)):
        yield Breach("D5", f"turns are numbered {[turn['number'] for turn in turns]}")
    begun = Counter(trigger for turn in turns for trigger in turn["triggers"])
    for trigger, times in begun.items():
        if times > 1:
            yield Breach("D5", f"trigger {trigger} began {times} turns")
    for trigger in Trigger.objects.filter(conversation=observed.id, state__in=("new", "claimed")):
        yield Breach("D5", f"{trigger} still waits in a conversation that has ended")


def _check_state(observed: ObservedConversation) -> Iterator[Breach]:
    try:
        assert_replay_matches(observed)
    except AssertionError as error:
        yield Breach("state", f"the tables are not what the log says: {error}")


def _payloads(frames: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [frame["data"] for frame in frames if frame["type"] == kind]
