"""Background commands: their rows, who may stop them, what keeps their sandbox, and when an end wakes the agent."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from paca import events
from paca.common.errors import NotFound
from paca.conversations import deletion, sandbox_queries, services, store
from paca.conversations.models import BackgroundCommand, Conversation, Sandbox, Trigger
from paca.conversations.services import agent_status, background
from paca.engine.tools.background_state import lost
from paca.engine.turn import TurnOutcome
from paca.sandbox.base import IdlePolicy
from paca.worker import background_looks, background_watch, turn_end
from tests.conversations.chat import Chat, download

pytestmark = pytest.mark.django_db
BOOT = "boot-1"
DONE = {"exit_code": 0, "seconds": 95.0, "output": "built\n"}


class Desk:
    """A chat whose agent has answered, with commands in the background."""

    def __init__(self, *spoken: events.Event) -> None:
        self.chat = Chat()
        self.id = UUID(str(self.chat.start("Build it")["conversation"]))
        sandbox = events.SandboxStarted(backend="bubblewrap", boot_id=BOOT)
        self.chat.run_turn(str(self.id), sandbox, *spoken, events.MessageSpoken(text="I wait."))

    @property
    def row(self) -> Conversation:
        return Conversation.objects.select_related("agent", "project").get(pk=self.id)

    def begin(self, handle: str = "bg1", **facts) -> str:
        call = uuid4().hex
        store.append(
            self.id,
            events.BackgroundStarted(
                **{
                    "call_id": call,
                    "handle": handle,
                    "command": "make",
                    "boot_id": BOOT,
                    "timeout_seconds": 300.0,
                    **facts,
                }
            ),
        )
        return call

    def end(self, call: str, **facts) -> store.AppendResult:
        fields = {"call_id": call, "handle": "bg1", **DONE, **facts}
        return store.append(self.id, events.BackgroundFinished(**fields))

    def events(self, kind: type[events.Event]) -> list[dict]:
        found = self.chat.api.get(self.chat.url(str(self.id), "events/")).json()["results"]
        return [each["data"] for each in found if each["type"] == kind.type]

    def listed(self) -> list[dict]:
        return self.chat.api.get(self.chat.url(str(self.id), "background/")).json()["results"]


def test_a_command_is_listed_with_its_state_and_its_end():
    desk = Desk()
    call = desk.begin()
    assert desk.row.background_running == 1
    [running] = desk.listed()
    assert (running["id"], running["handle"], running["state"]) == (call, "bg1", "running")
    desk.end(call)
    [ended] = desk.listed()
    assert (ended["state"], ended["exit_code"], ended["output"]) == ("ended", 0, "built\n")
    assert desk.row.background_running == 0


def test_the_first_end_of_a_command_counts():
    """Two workers, or a call of the agent and a worker, may learn of it in the same moment."""
    desk = Desk()
    call = desk.begin()
    desk.end(call)
    again = desk.end(call, exit_code=1)
    assert again.events == ()
    assert [each["exit_code"] for each in desk.events(events.BackgroundFinished)] == [0]
    assert desk.row.background_running == 0


@pytest.mark.parametrize(
    "event",
    [
        events.SandboxLost(cause="It was killed."),
        events.SandboxRemoved(kept=True),
        events.SandboxStarted(backend="bubblewrap", boot_id="boot-2"),
    ],
)
def test_commands_are_lost_with_their_sandbox(event):
    desk = Desk()
    calls = [desk.begin("bg1"), desk.begin("bg2")]
    if isinstance(event, events.SandboxStarted):
        Sandbox.objects.update(state="ended")
    store.append(desk.id, event)
    found = desk.events(events.BackgroundFinished)
    assert [(each["call_id"], each["cause"]) for each in found] == [(c, "lost") for c in calls]
    assert desk.row.background_running == 0


def test_a_start_of_the_same_sandbox_ends_nothing():
    desk = Desk()
    desk.begin()
    Sandbox.objects.update(state="paused")
    store.append(desk.id, events.SandboxResumed(boot_id=BOOT))
    assert desk.row.background_running == 1


def test_the_list_takes_the_same_number_of_queries_for_any_number(django_assert_num_queries):
    desk = Desk()
    for number in range(3):
        desk.begin(f"bg{number}")
    with CaptureQueriesContext(connection) as few:
        assert len(desk.listed()) == 3
    for number in range(3, 30):
        desk.begin(f"bg{number}")
    with django_assert_num_queries(len(few)):
        assert len(desk.listed()) == 30


# --- stopping -----------------------------------------------------------------------------------------


def test_a_person_stops_one_command_once():
    desk = Desk()
    call, other = desk.begin("bg1"), desk.begin("bg2")
    url = desk.chat.url(str(desk.id), f"background/{call}/stop/")
    answer = desk.chat.api.post(url, {})
    assert (answer.status_code, answer.data["state"]) == (202, "stopping")
    first = BackgroundCommand.objects.get(pk=call).stop_requested_at
    desk.chat.api.post(url, {})
    assert BackgroundCommand.objects.get(pk=call).stop_requested_at == first
    assert BackgroundCommand.objects.get(pk=other).stop_requested_at is None
    desk.end(call, cause="cancelled")
    assert desk.chat.api.post(url, {}).data["state"] == "ended"


@pytest.mark.parametrize("call", ["none", "0" * 32, "a" * 64])
def test_a_command_that_is_not_there_cannot_be_stopped(call):
    desk = Desk()
    desk.begin()
    answer = desk.chat.api.post(desk.chat.url(str(desk.id), f"background/{call}/stop/"), {})
    assert answer.status_code == 404
    mine = desk.begin("bg2")
    other = Conversation.objects.get(pk=desk.chat.start("Mine")["conversation"])
    with pytest.raises(NotFound):
        background.get(other, mine)


def test_stop_of_the_conversation_ends_its_background_work_also_after_the_answer():
    desk = Desk()
    call = desk.begin()
    services.stop(desk.row, by=desk.chat.world.owner)
    row = BackgroundCommand.objects.get(pk=call)
    assert (row.shown_state, row.stop_by) == ("stopping", desk.chat.world.owner.name)
    assert desk.row.status == "finished"


def test_a_deleted_conversation_keeps_nothing_of_its_commands():
    desk = Desk()
    desk.begin()
    deletion.delete(desk.row, by=desk.chat.world.owner)
    assert not BackgroundCommand.objects.exists()
    assert desk.row.background_running is None


def test_a_fork_has_no_row_of_its_origin():
    desk = Desk()
    call = desk.begin()
    made = services.fork(desk.row, seq=desk.row.last_seq, by=desk.chat.world.owner)
    assert not made.background_commands.exists()
    assert made.background_running is None
    # What its own sandbox does ends nothing of the origin.
    store.append(made.pk, events.SandboxStarted(backend="bubblewrap", boot_id="boot-9"))
    assert BackgroundCommand.objects.get(pk=call).state == "running"


# --- the sandbox --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "kept"), [(300.0, True), (-90.0, False)])
def test_a_sandbox_is_kept_while_its_background_work_may_run(seconds, kept):
    desk = Desk()
    Sandbox.objects.update(last_used_at=timezone.now() - timedelta(hours=9))
    assert desk.id not in sandbox_queries.needed_conversations(IdlePolicy())
    desk.begin(timeout_seconds=seconds)
    assert (desk.id in sandbox_queries.needed_conversations(IdlePolicy())) is kept


def test_a_sandbox_with_background_work_is_not_paused():
    desk = Desk()
    desk.row.agent.__class__.objects.update(sandbox_life="persistent")
    Sandbox.objects.update(last_used_at=timezone.now() - timedelta(minutes=10))
    assert [each.conversation_id for each in sandbox_queries.to_pause(IdlePolicy())] == [desk.id]
    call = desk.begin()
    assert sandbox_queries.to_pause(IdlePolicy()) == []
    desk.end(call)
    assert sandbox_queries.to_pause(IdlePolicy())


# --- waking the agent ---------------------------------------------------------------------------------


def test_an_end_after_the_answer_wakes_the_agent_once():
    desk = Desk()
    desk.end(desk.begin())
    assert background.wake(desk.id)
    assert desk.row.status == "queued"
    assert not background.wake(desk.id)
    [trigger] = Trigger.objects.filter(kind=background.WAKE)
    asked = Trigger.objects.exclude(kind=background.WAKE).get()
    assert (trigger.actor, trigger.hops) == (asked.actor, asked.hops)


@pytest.mark.parametrize(
    ("facts", "change"),
    [
        ({"told": True}, {}),
        ({"cause": "cancelled"}, {}),
        ({}, {"status": "paused", "reason": "by_person"}),
        ({}, {"status": "stopped", "reason": "by_person"}),
        ({}, {"status": "failed", "reason": "configuration"}),
        ({}, {"archived_at": timezone.now()}),
    ],
)
def test_an_end_wakes_nobody_who_knows_of_it_or_who_waits_for_a_person(facts, change):
    desk = Desk()
    call = desk.begin()
    _force(desk, **change)
    desk.end(call, **facts)
    assert not background.wake(desk.id)
    assert desk.row.status == change.get("status", "finished")


def _force(desk: Desk, **change: object) -> None:
    """Give the conversation a state, by the moves that lead there."""
    if status := change.get("status"):
        store.append(desk.id, events.ConversationQueued(trigger="chat_message"))
        if status == "stopped":
            store.append(desk.id, events.ConversationStopped(reason="by_person"))
            return
        store.append(desk.id, events.ConversationStarted(model="m"))
        if status == "paused":
            store.append(desk.id, events.ConversationPaused(reason="by_person"))
        else:
            store.append(desk.id, events.ConversationFailed(code="configuration", message="x", next_step="y"))  # fmt: skip
    elif change:
        Conversation.objects.filter(pk=desk.id).update(**change)


def test_an_end_that_a_model_call_has_read_wakes_nobody():
    desk = Desk()
    ended = desk.end(desk.begin())
    read = events.UsageRecorded(
        call_id=uuid4().hex, model="m", outcome="done", purpose="turn", seen_seq=ended.last_seq
    )
    store.append(desk.id, read)
    assert not background.wake(desk.id)
    assert not BackgroundCommand.objects.filter(wake_due=True).exists()


def test_an_agent_is_woken_five_times_in_a_row_at_most():
    desk = Desk()
    woken = []
    for _ in range(7):
        desk.end(desk.begin())
        woken.append(background.wake(desk.id))
        if woken[-1]:
            store.append(desk.id, events.ConversationStarted(model="m"))
            Trigger.objects.update(state="done")
            store.append(desk.id, events.ConversationFinished(reason="answered"))
    assert woken == [True] * 5 + [False] * 2


def test_an_agent_is_woken_no_more_often_if_its_team_wakes_it_in_between():
    desk = Desk()
    woken = []
    for _ in range(7):
        desk.end(desk.begin())
        woken.append(background.wake(desk.id))
        if woken[-1]:
            store.append(desk.id, events.ConversationStarted(model="m"))
            Trigger.objects.create(
                conversation=desk.row, kind="teammate", source="team", by="ann", event_seq=1
            )
            Trigger.objects.update(state="done")
            store.append(desk.id, events.ConversationFinished(reason="answered"))
    assert woken == [True] * 5 + [False] * 2


def test_a_retired_agent_is_not_woken():
    desk = Desk()
    desk.end(desk.begin())
    desk.row.agent.__class__.objects.update(deleted_at=timezone.now())
    assert not background.wake(desk.id)


def test_an_end_wakes_the_agent_when_a_full_disk_has_space_again(monkeypatch):
    desk = Desk()
    desk.end(desk.begin())
    with monkeypatch.context() as full:
        full.setattr("paca.common.disk_space.has_space", lambda folder: False)
        assert not background.wake(desk.id)
    assert background.wake(desk.id)


# --- which worker looks ---------------------------------------------------------------------------------


def test_one_worker_looks_at_a_time():
    desk = Desk()
    call = desk.begin()
    [taken] = background_watch.take_due()
    assert (taken.id, [each.call_id for each in taken.commands]) == (desk.id, [call])
    assert background_watch.take_due() == []
    BackgroundCommand.objects.update(look_at=timezone.now())
    assert len(background_watch.take_due()) == 1


def test_two_workers_that_read_the_same_rows_look_once():
    desk = Desk()
    desk.begin()
    rows = list(BackgroundCommand.objects.select_related("conversation__agent"))
    now = timezone.now()
    assert background_watch._take(rows, now) is not None
    assert background_watch._take(rows, now) is None


def test_nobody_looks_beside_a_run():
    """Its own worker watches: another one would take the sandbox from it."""
    desk = Desk()
    desk.begin()
    store.append(desk.id, events.ConversationQueued(trigger="chat_message"))
    store.append(desk.id, events.ConversationStarted(model="m"))
    assert background_watch.take_due() == []


def test_a_command_of_a_sandbox_that_an_older_worker_has_ended_is_lost():
    """It records the end of a sandbox, and does not know of background commands."""
    desk = Desk()
    call = desk.begin()
    Sandbox.objects.update(state="ended")
    [taken] = background_watch.take_due()
    assert (taken.commands, [each.call_id for each in taken.lost]) == ((), [call])


def test_commands_of_an_archived_conversation_are_to_end():
    desk = Desk()
    call = desk.begin()
    assert background_looks.read_stops(desk.id) == {}
    services.archive(desk.row, archived=True, by=desk.chat.world.owner)
    assert background_looks.read_stops(desk.id) == {call: ""}


def test_a_stop_ends_what_its_turn_starts_before_it_hears_of_it():
    desk = Desk()
    store.append(desk.id, events.ConversationQueued(trigger="chat_message"))
    lease = desk.chat.start_turn(str(desk.id))
    services.stop(desk.row, by=desk.chat.world.owner)
    call = uuid4().hex
    fields = {"handle": "bg1", "command": "make", "boot_id": BOOT, "timeout_seconds": 300.0}
    started = events.BackgroundStarted(call_id=call, **fields)
    turn_end.end_turn(lease, [started], TurnOutcome("stopped", "by_person"), steps=1)
    assert background_looks.read_stops(desk.id) == {call: desk.chat.world.owner.name}


def test_commands_of_a_conversation_that_waits_for_its_helpers_are_looked_at():
    """It has no worker meanwhile, and a helper watches its own commands only."""
    desk = Desk()
    call = desk.begin()
    store.append(desk.id, events.ConversationQueued(trigger="chat_message"))
    store.append(desk.id, events.ConversationStarted(model="m"))
    store.append(desk.id, events.ConversationWaiting(reason="helpers"))
    [taken] = background_watch.take_due()
    assert [each.call_id for each in taken.commands] == [call]


def test_an_agent_that_is_made_inactive_at_once_runs_nothing_on():
    desk = Desk()
    call = desk.begin()
    owner = desk.chat.world.owner
    for mode, stopped in (("graceful", {}), ("immediate", {call: owner.name})):
        agent_status.change(desk.row.agent, status="inactive", mode=mode, by=owner)
        assert background_looks.read_stops(desk.id) == stopped


def test_a_transcript_tells_of_background_commands():
    desk = Desk()
    desk.end(desk.begin())
    text = desk.chat.api.get(desk.chat.url(str(desk.id), "export/?format=markdown"))
    told = download(text).decode()
    assert "In the background as bg1: make" in told
    assert "Background command bg1 ended with exit code 0 after 95 s" in told


def test_the_end_of_an_unknown_command_is_no_event():
    desk = Desk()
    assert store.append(desk.id, lost(uuid4().hex, "bg1", "make")).events == ()
