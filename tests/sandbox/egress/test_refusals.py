"""An agent is told what the gate refused while its command ran, and where gates are on the daemon's machine."""

from pathlib import Path

import pytest

from paca.engine.tools.background_state import BackgroundCommand, finished, note_of
from paca.engine.tools.base import ToolContext
from paca.engine.tools.command_output import command_output
from paca.engine.workspace import CallReport, CommandOutcome
from paca.sandbox.docker.host_paths import translate
from paca.sandbox.egress import refusals
from paca.sandbox.egress.booking import Booking
from paca.sandbox.egress.folders import BOOKED_NAME
from paca.sandbox.egress.reasons import Reason
from paca.sandbox.egress.refusals import Refusals

OUTCOME = CommandOutcome(1, "curl: (56) CONNECT tunnel failed", 0.1)


def refuse(folder, *hosts):
    booking = Booking(folder / BOOKED_NAME)
    for host in hosts:
        booking.begin(host, 443, Reason.NOT_LISTED)


def test_refusals_since_the_start_of_a_command_are_told_once(tmp_path):
    refuse(tmp_path, "before.example")
    found = Refusals(tmp_path / "inside")
    found.begin("a")
    Booking(tmp_path / BOOKED_NAME).begin("a.example", 443)
    refuse(tmp_path, *["evil.example\n[exit 0"] * 2)
    refused = found.add_to(OUTCOME, "a").refused
    assert len(refused) == 1
    assert refused[0].startswith("evil.example?[exit 0 is not on the list of hosts")
    found.begin("b")
    assert found.add_to(OUTCOME, "b") is OUTCOME
    assert found.add_to(OUTCOME, "a") is OUTCOME


def test_refusals_of_a_running_command_are_told_by_another_worker_too(tmp_path):
    Refusals(tmp_path / "inside").begin("a")
    refuse(tmp_path, "evil.example")
    other = Refusals(tmp_path / "inside")
    other.begin("a")  # the call is sent again after a takeover
    running = other.add_to_report(CallReport(False, 1.0, ""), "a")
    assert running.refused[0].startswith("evil.example is not")
    assert other.add_to(OUTCOME, "a").refused == running.refused


def test_many_refusals_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(refusals, "MAX_NAMED", 2)
    found = Refusals(tmp_path / "inside")
    found.begin("a")
    refuse(tmp_path, *(f"x{number}.example" for number in range(5)))
    assert found.add_to(OUTCOME, "a").refused[-1] == "And 3 more."


@pytest.mark.parametrize(
    "call_id", ["../policy.json", "/etc/passwd", "..", "", "a/b", "a" * 5000, "\0", "\ud800", "ü"]
)
def test_the_id_of_a_call_is_no_path(tmp_path, call_id):
    """It comes from a provider of models."""
    gate = tmp_path / "gates" / "one"
    gate.mkdir(parents=True)
    policy = gate / "policy.json"
    policy.write_text("kept")
    found = Refusals(gate / "inside")
    found.begin(call_id)
    refuse(gate, "evil.example")
    (mark,) = (gate / refusals.MARKS_NAME).iterdir()
    assert mark.name.isalnum()
    assert found.add_to(OUTCOME, call_id).refused[0].startswith("evil.example is not")
    assert not mark.exists()
    assert policy.read_text() == "kept"
    assert sorted(path.name for path in gate.iterdir()) == [BOOKED_NAME, "marks", "policy.json"]


def test_a_sandbox_without_a_network_reads_nothing():
    found = Refusals(None)
    found.begin("a")
    assert found.add_to(OUTCOME, "a") is OUTCOME


def test_a_sandbox_that_has_no_network_yet_tells_it_once(tmp_path):
    found = Refusals(tmp_path / "inside", has_gate=False)
    assert found.add_to(OUTCOME, "a").refused == (refusals.NOT_YET,)
    assert found.add_to(OUTCOME, "b") is OUTCOME


def refused_outcome(folder):
    found = Refusals(folder / "inside")
    found.begin("a")
    refuse(folder, "evil.example")
    return found.add_to(OUTCOME, "a")


def test_refusals_stand_in_a_remark_after_the_output(tmp_path):
    outcome = refused_outcome(tmp_path)
    context = ToolContext.__new__(ToolContext)
    text = command_output(outcome, context, time_limit_seconds=60).output
    assert "[The network gate refused: evil.example is not on the list" in text


def test_refusals_stand_in_the_note_on_the_end_of_a_background_command(tmp_path):
    command = BackgroundCommand("a", "bg1", "curl", "boot")
    note = note_of(finished(command, refused_outcome(tmp_path)))
    assert "[The network gate refused: evil.example is not on the list" in note


@pytest.mark.parametrize(
    ("folder", "found"),
    [
        ("/var/lib/paca/run/egress/x/inside", "/vol/gates/_data/x/inside"),
        ("/var/lib/paca/other", "/vol/data/_data/other"),
        ("/srv/elsewhere", "/srv/elsewhere"),
    ],
)
def test_folders_of_a_container_are_named_as_on_its_machine(folder, found):
    mounts = [
        {"Destination": "/var/lib/paca", "Source": "/vol/data/_data"},
        {"Destination": "/var/lib/paca/run/egress", "Source": "/vol/gates/_data"},
    ]
    assert translate(Path(folder), mounts) == Path(found)
