"""Journeys through a real Valkey: external triggers, and outages of Redis during a run."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client
from jsonschema import Draft202012Validator
from redis.exceptions import ResponseError

import paca.bus
from paca.bus.base import EntryStatus
from paca.bus.redis.bus import RedisBus
from paca.conversations import event_schema
from paca.conversations.models import Conversation, Trigger
from paca.worker.database import Database
from paca.worker.external_triggers import ExternalTriggerHandler
from tests.realtime.pages import Page, application, conversation_page, session_headers
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.frames import frames_of
from tests.support.live_server import LiveServer, running
from tests.support.model_script import calls, says
from tests.support.promises import LATE_SECONDS, seconds_waited
from tests.support.valkey_server import ValkeyServer, lost_links
from tests.support.valkey_server import running as valkey_running

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]

STREAM, DEAD, MIRROR = "paca:agent:triggers", "paca:agent:triggers:dead", "paca:agent:events"
RESULTS = "paca:agent:triggers:results"


@pytest.fixture
def valkey(monkeypatch: pytest.MonkeyPatch) -> Iterator[ValkeyServer]:
    """A Valkey server that the bus of this process uses."""
    with valkey_running() as server:
        bus = RedisBus(server.url, abandoned_seconds=0.3)
        monkeypatch.setattr(paca.bus, "_bus", bus)
        yield server
        bus.close()


@pytest.fixture
def flow(valkey: ValkeyServer, transactional_db: None, tmp_path: Path) -> Iterator[Flow]:
    with Flow(tmp_path) as found:
        yield found


@pytest.fixture
def server(valkey: ValkeyServer, transactional_db: None) -> Iterator[LiveServer]:
    with running(application()) as live:
        yield live


def message_fields(flow: Flow, **changes: str) -> dict[str, str]:
    return {
        "type": "agent.chat_message",
        "trigger_type": "chat_message",
        "conversation_id": str(uuid4()),
        "project_id": str(flow.world.project.pk),
        "agent_id": str(flow.world.agent.pk),
        "actor_member_id": str(flow.world.owner.pk),
        "message": "Is the build green?",
        **changes,
    }


def worker_group(program) -> dict:
    """The consumer group of the workers as Redis describes it; empty before a worker has made it."""
    with suppress(ResponseError):  # the stream does not exist yet
        return next(iter(program.xinfo_groups(STREAM)), {})
    return {}


def waits_for_entries(program) -> bool:
    """Whether the worker waits in a read of the stream, which began before its capacity changed."""
    clients = [each for each in program.client_list() if each["name"] == "paca-bus-trigger-stream"]
    return any("b" in each["flags"] for each in clients)


def all_acknowledged(program) -> bool:
    facts = worker_group(program)
    return facts.get("pending") == 0 and facts.get("lag") == 0


# --- other programs -----------------------------------------------------------------------------


def test_external_trigger_sent_three_times_is_answered_once(flow, valkey):
    flow.model.script([says("It is green.")])
    fields = message_fields(flow)
    with valkey.client() as program:
        entries = [program.xadd(STREAM, fields) for _ in range(3)]
        conversation = ObservedConversation(UUID(fields["conversation_id"]))
        wait_until(lambda: Conversation.objects.filter(pk=conversation.id).exists())
        flow.wait_until_idle(conversation)
        wait_until(lambda: all_acknowledged(program))
        assert program.xlen(DEAD) == 0
        assert fields["message"] not in str(program.xrange(STREAM))
        results = [each for _, each in program.xrange(RESULTS)]
    assert {each["entry_id"] for each in results} == set(entries)
    for each in results:
        Draft202012Validator(definition("TriggerResult")).validate(each)
        assert each["status"] == "accepted"
        assert each["conversation_id"] == str(conversation.id)
    assert conversation.answers == ["It is green."]
    assert conversation.row.turn_number == 1
    assert len(flow.model.requests) == 1
    assert_replay_matches(conversation)


def test_external_stop_ends_a_running_command(flow, valkey):
    conversation = flow.begin("Go", [calls(bash="sleep 300")])
    wait_until(lambda: conversation.has_event("tool.started"), 60)
    with valkey.client() as program:
        program.xadd(STREAM, {"type": "agent.stop", "conversation_id": str(conversation.id)})
        flow.wait_until_idle(conversation)
        wait_until(lambda: all_acknowledged(program))
    assert conversation.status == "stopped/by_person"
    assert conversation.event_data("conversation.stopped")[0]["by"] == "another program"
    assert_replay_matches(conversation)


def test_external_trigger_waits_on_a_full_disk_and_external_stops_are_obeyed(
    flow, valkey, monkeypatch
):
    conversation = flow.begin("Go", [calls(bash="sleep 300"), says("It is green.")])
    wait_until(lambda: conversation.has_event("tool.started"), 60)
    fields = message_fields(flow)
    later = ObservedConversation(UUID(fields["conversation_id"]))
    with valkey.client() as program, monkeypatch.context() as patched:
        patched.setattr("paca.common.disk_space.MIN_FREE_MIB", 1 << 40)
        wait_until(lambda: not waits_for_entries(program))
        program.xadd(STREAM, fields)
        program.xadd(STREAM, {"type": "agent.stop", "conversation_id": str(conversation.id)})
        assert flow.wait_until_idle(conversation) == "stopped/by_person"
        assert not Conversation.objects.filter(pk=later.id).exists()
        patched.undo()
        wait_until(lambda: Conversation.objects.filter(pk=later.id).exists())
        assert flow.wait_until_idle(later) == "finished/answered"
        assert program.xlen(DEAD) == 0


def test_external_stop_before_its_message_is_obeyed(flow, valkey):
    fields = message_fields(flow, message="[[fake turns=1 ftd=60000]]")
    conversation = ObservedConversation(UUID(fields["conversation_id"]))
    with valkey.client() as program:
        program.xadd(STREAM, {"type": "agent.stop", "conversation_id": str(conversation.id)})
        wait_until(lambda: worker_group(program).get("pending") == 1)
        program.xadd(STREAM, fields)
        wait_until(lambda: Conversation.objects.filter(pk=conversation.id).exists())
        assert flow.wait_until_idle(conversation) == "stopped/by_person"
        assert program.xlen(DEAD) == 0


def test_external_stop_reaches_a_worker_without_free_slots(valkey, transactional_db, tmp_path):
    with Flow(tmp_path, worker={"concurrency": 1}) as flow, valkey.client() as program:
        conversation = flow.begin("Go", [calls(bash="sleep 300")])
        wait_until(lambda: conversation.has_event("tool.started"), 60)
        fields = message_fields(flow, message="[[fake turns=1 ftd=60000]]")
        behind = ObservedConversation(UUID(fields["conversation_id"]))
        program.xadd(STREAM, fields)
        for each in (behind, conversation):
            program.xadd(STREAM, {"type": "agent.stop", "conversation_id": str(each.id)})
        assert flow.wait_until_idle(conversation) == "stopped/by_person"
        wait_until(lambda: Conversation.objects.filter(pk=behind.id).exists())
        assert flow.wait_until_idle(behind) == "stopped/by_person"
        wait_until(lambda: all_acknowledged(program))


def test_external_trigger_that_is_invalid_goes_to_the_dead_stream_with_the_reason(flow, valkey):
    wrong = {
        "type is 'agent.dance'": message_fields(flow, type="agent.dance"),
        "message is empty": message_fields(flow, message=""),
        "agent_id is no agent": message_fields(flow, agent_id=str(uuid4())),
        "project_id is missing": {"type": "agent.task_assigned"},
        "type is missing": {"hello": "world"},
        "Given up after 6 attempts": {"type": "agent.stop", "conversation_id": str(uuid4())},
    }
    with valkey.client() as program:
        sent = {program.xadd(STREAM, fields): (reason, fields) for reason, fields in wrong.items()}
        wait_until(lambda: program.xlen(DEAD) == len(wrong))
        wait_until(lambda: all_acknowledged(program))
        for _, dead in program.xrange(DEAD):
            reason, fields = sent[dead["entry_id"]]
            assert reason in dead["reason"]
            assert dead == {**fields, "reason": dead["reason"], "entry_id": dead["entry_id"]}
        codes = {each["entry_id"]: each["code"] for _, each in program.xrange(RESULTS)}
        assert codes.keys() == sent.keys()
        assert set(codes.values()) == {"trigger_refused", "invalid", "trigger_too_early"}
    assert not Trigger.objects.exists()


def test_external_trigger_whose_worker_dies_before_the_acknowledgement_starts_once(flow, valkey):
    """The entry is stored, and delivered once more, as after a kill."""
    flow.model.script([says("Once.")])
    fields = message_fields(flow)
    conversation = ObservedConversation(UUID(fields["conversation_id"]))
    with valkey.client() as program:
        flow.stop_worker()
        entry = program.xadd(STREAM, fields)
        program.xreadgroup("ai-agent-workers", "worker-gone-1", {STREAM: ">"})
        database = Database()
        try:
            result = ExternalTriggerHandler(database, lambda: 1).handle(entry, fields)
        finally:
            database.close()
        assert result.status is EntryStatus.ACCEPTED
        flow.start_worker()
        flow.wait_until_idle(conversation)
        wait_until(lambda: all_acknowledged(program))
    assert conversation.answers == ["Once."]
    assert Trigger.objects.count() == 1


# --- events for other programs ---------------------------------------------------------------


def definition(name: str) -> dict[str, Any]:
    """The part of the published schema with this name."""
    return {**event_schema.document(), "$ref": f"#/$defs/{name}"}


def fetch(flow: Flow, path: str) -> list[dict]:
    """The results that the API gives the person at this address."""
    client = Client()
    client.force_login(flow.world.user)
    return client.get(path).json()["results"]


def test_redis_events_show_a_conversation_and_no_secret(flow, valkey):
    published: list[dict] = []
    with valkey.client() as program:
        channel = program.pubsub(ignore_subscribe_messages=True)
        channel.subscribe("paca.events")
        channel.get_message(timeout=5)
        long = "x" * 30_000
        replies = [calls(bash=f"echo {long[:20_000]}"), says("Done.")]
        conversation = flow.ask("Print it", replies)
        log = conversation.frames
        wait_until(lambda: program.xlen(MIRROR) == len(log))
        mirror = [fields for _, fields in program.xrange(MIRROR)]
        while not any(each["type"] == "agent.conversation.finished" for each in published):
            message = channel.get_message(timeout=20)
            assert message, published
            published.append(json.loads(message["data"]))
        channel.close()
        everything = json.dumps([mirror, program.xrange(STREAM), published])
    for fields, frame in zip(mirror, log, strict=True):
        Draft202012Validator(definition("EventEntry")).validate(fields)
        Draft202012Validator(definition("Frame")).validate(frame)
        payload = fields.pop("payload")
        large = len(json.dumps(frame["data"])) > 16_000
        if large:
            assert int(fields.pop("payload_bytes")) > 16_000
            assert fetch(flow, fields.pop("payload_path")) == [frame]
        assert fields == {
            "conversation_id": str(conversation.id),
            "project_id": str(flow.world.project.pk),
            "event_type": frame["type"],
            "event_source": frame["source"],
            "event_index": str(frame["seq"]),
            "status": fields["status"],
        }
        assert (payload == "") if large else (json.loads(payload) == frame["data"])
    assert [fields["status"] for fields in mirror][:1] == ["queued"]
    assert mirror[-1]["status"] == "finished"
    finished = [each for each in published if each["type"] == "agent.conversation.finished"]
    assert finished == [
        {
            "type": "agent.conversation.finished",
            "payload": {
                "conversation_id": str(conversation.id),
                "project_id": str(flow.world.project.pk),
                "seq": log[-1]["seq"],
            },
        }
    ]
    assert "sk-test-1234" not in everything


# --- Redis goes away ----------------------------------------------------------------------------


def wiped(server: ValkeyServer) -> None:
    server.wipe()


def restarted(server: ValkeyServer) -> None:
    server.stop()
    server.start()


def killed(server: ValkeyServer) -> None:
    server.kill()
    server.start()


def frozen(server: ValkeyServer) -> None:
    with lost_links() as lost:
        server.freeze()
        wait_until(lambda: {"paca-bus-subscriber", "paca-bus-trigger-stream"} <= lost)
    server.thaw()


def away(server: ValkeyServer) -> None:
    """It does not come back."""
    server.kill()


class Watching(threading.Thread):
    """A page that stays open until its conversation is finished, and records how late each event came.

    The time in which the machine was busy does not count.
    """

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page
        self.late: list[tuple[float, str]] = []

    def run(self) -> None:
        """Events from before the page was ready do not count as late."""
        opened = float("inf")
        noted = [
            (0.0, seconds_waited())
        ]  # the time, and how long the machine had been busy by then
        with self.page:
            while True:
                frame = self.page.next(60)
                noted.append((time.time(), seconds_waited()))
                if frame["type"] == "ready":
                    opened = time.time()
                elif frame.get("seq") and timestamp(frame) > opened:
                    at = timestamp(frame)
                    waited = noted[-1][1] - max(each for each in noted if each[0] <= at)[1]
                    self.late.append((noted[-1][0] - at - waited, frame["type"]))
                if frame["type"] == "agent.conversation.finished":
                    return


def timestamp(frame: dict[str, Any]) -> float:
    return datetime.fromisoformat(frame["at"]).timestamp()


STEPS = "[[fake turns=6 cmd='sleep 0.3; echo {i} >> steps; cat steps']]"


@pytest.mark.parametrize("outage", [wiped, restarted, killed, frozen, away])
def test_redis_outage_stops_no_work_and_pages_see_each_event_once(flow, server, valkey, outage):
    conversations = [flow.begin(STEPS) for _ in range(2)]
    watching = [
        Watching(conversation_page(server, each.id, session_headers(server, flow.world.user)))
        for each in conversations
    ]
    for thread in watching:
        thread.start()
    wait_until(lambda: all(len(each.outputs) >= 2 for each in conversations), 60)
    outage(valkey)
    waited = seconds_waited()
    late = flow.begin("In between")
    assert flow.wait_until_idle(late) == "finished/answered"
    waited = seconds_waited() - waited
    for each in conversations:
        assert flow.wait_until_idle(each) == "finished/answered"
        assert len(each.outputs) == 6
        assert each.outputs[-1].startswith("0\n1\n2\n3\n4\n5\n[exit 0")
        assert_replay_matches(each)
    for each, thread in zip(conversations, watching, strict=True):
        thread.join(30)
        assert not thread.is_alive()
        seen = [frame for frame in thread.page.frames if frame.get("seq") and "source" in frame]
        assert seen == frames_of(each.id)
        assert max(thread.late)[0] < LATE_SECONDS, max(thread.late)
    assert seconds_until_claimed(late) - waited < LATE_SECONDS


def seconds_until_claimed(conversation: ObservedConversation) -> float:
    at = {frame["type"]: datetime.fromisoformat(frame["at"]) for frame in conversation.frames}
    return (at["agent.conversation.started"] - at["agent.conversation.queued"]).total_seconds()


def test_conversation_runs_and_is_watched_without_a_reachable_redis(valkey, flow, server):
    valkey.kill()
    conversation = flow.begin("Hello", [says("Hello.")])
    watching = Watching(
        conversation_page(server, conversation.id, session_headers(server, flow.world.user))
    )
    watching.start()
    assert flow.wait_until_idle(conversation) == "finished/answered"
    watching.join(30)
    assert not watching.is_alive()
