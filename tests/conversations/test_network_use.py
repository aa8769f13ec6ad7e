"""What network gates have booked is counted once, and shown to those who may read the conversation."""

import uuid
from pathlib import Path
from types import SimpleNamespace

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext

from paca.agents import services as agents
from paca.common.network_policy import EgressPolicy, Network
from paca.conversations import deletion, network_use, services
from paca.conversations.models import Conversation, NetworkBook, NetworkUse
from paca.projects.services import projects
from paca.sandbox.base import SandboxSpec, new_probe_id
from paca.sandbox.egress.booking import Booked, Booking, Used
from paca.sandbox.egress.gates import Gates
from paca.sandbox.egress.reasons import Reason
from paca.worker.sandboxes import network_gates
from paca.worker.sandboxes.network_gates import GateKeeper
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db
POLICY = EgressPolicy(Network.RESTRICTED, ("pkgs.dev",))
BOOK = "book"
LINES = (
    Booked(100.0, "pkgs.dev", 443),
    Booked(101.0, "evil.example", 443, Reason.NOT_LISTED),
    Booked(102.0, "pkgs.dev", 443),
    Booked(103.0, "pkgs.dev", 443, sent=10, received=200, begins=False),
)


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def conversation(world: World) -> Conversation:
    return begin(world)


def begin(world: World) -> Conversation:
    receipt = services.start_chat(world.agent, by=world.owner, text="hello")
    return Conversation.objects.get(pk=receipt.conversation_id)


def rows(conversation: Conversation) -> list[tuple]:
    return [
        (use.host, use.port, use.reason, use.connections, use.sent_bytes, use.received_bytes)
        for use in network_use.newest(conversation)
    ]


FOUND = [("pkgs.dev", 443, "", 2, 10, 200), ("evil.example", 443, "not_listed", 1, 0, 0)]


def test_connections_of_one_host_are_one_row(conversation: Conversation) -> None:
    network_use.record(conversation.pk, BOOK, LINES, begin=0, end=90)
    assert rows(conversation) == FOUND
    assert network_use.read_bytes(BOOK) == 90
    network_use.record(conversation.pk, BOOK, [Booked(200.0, "pkgs.dev", 443)], begin=90, end=120)
    assert rows(conversation)[0] == ("pkgs.dev", 443, "", 3, 10, 200)


def test_lines_count_once_whoever_reads_them(conversation: Conversation) -> None:
    for _ in range(2):
        network_use.record(conversation.pk, BOOK, LINES, begin=0, end=90)
    assert rows(conversation) == FOUND


def test_names_that_an_agent_makes_up_are_one_row_beyond_the_most(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network_use, "MAX_HOSTS", 2)
    made_up = [Booked(n, f"x{n}.example", 443, Reason.NOT_LISTED) for n in range(9)]
    network_use.record(conversation.pk, BOOK, made_up, begin=0, end=9)
    assert [row[0] for row in rows(conversation)] == ["", "x1.example", "x0.example"]
    assert rows(conversation)[0][3] == 7


def test_a_deleted_conversation_keeps_nothing(world: World, conversation: Conversation) -> None:
    network_use.record(conversation.pk, BOOK, LINES, begin=0, end=90)
    services.stop(conversation, by=world.owner)
    deletion.delete(conversation, by=world.owner)
    assert not NetworkUse.objects.exists()
    network_use.record(conversation.pk, BOOK, LINES, begin=90, end=180)
    assert not NetworkUse.objects.exists()


def test_lines_of_an_unknown_conversation_are_dropped() -> None:
    network_use.record(uuid.uuid4(), BOOK, LINES, begin=0, end=90)
    assert not NetworkUse.objects.exists()


def test_the_hosts_of_a_conversation_are_shown(world: World, conversation: Conversation) -> None:
    network_use.record(conversation.pk, BOOK, LINES, begin=0, end=90)
    path = f"/projects/{world.project.pk}/conversations/{conversation.pk}/network/"
    shown = Api(world.user).get(path).json()
    assert (shown["sent_bytes"], shown["received_bytes"]) == (10, 200)
    assert [each["host"] for each in shown["results"]] == ["pkgs.dev", "evil.example"]
    assert shown["results"][0]["explanation"] == ""
    assert "evil.example is not on the list" in shown["results"][1]["explanation"]


def test_the_number_of_queries_does_not_grow_with_the_hosts(
    world: World, conversation: Conversation
) -> None:
    path = f"/projects/{world.project.pk}/conversations/{conversation.pk}/network/"
    counted = []
    for number in (3, 30):
        made = [Booked(n, f"x{n}.example", 443) for n in range(number)]
        network_use.record(conversation.pk, BOOK + str(number), made, begin=0, end=9)
        with CaptureQueriesContext(connection) as queries:
            assert len(Api(world.user).get(path).json()["results"]) == number
        counted.append(len(queries))
    assert counted[0] == counted[1]


def test_the_policy_of_a_gate_is_that_of_the_project_now(
    world: World, conversation: Conversation
) -> None:
    projects.change(
        world.project, by=world.owner, network="restricted", network_hosts=["a.example"]
    )
    found = network_use.gates_of([conversation.pk, uuid.uuid4()])
    assert list(found) == [conversation.pk]
    assert found[conversation.pk].policy.hosts == ("a.example",)
    assert not found[conversation.pk].is_living


class DirectDatabase:
    """Calls in the thread and the transaction of the test."""

    async def call(self, function, *arguments, **options):
        return await sync_to_async(function)(*arguments, **options)


@pytest.fixture
def gates(tmp_path: Path) -> Gates:
    return Gates(tmp_path, "tests")


def keep(gates: Gates) -> None:
    """One look of a new worker."""
    async_to_sync(GateKeeper(gates, DirectDatabase()).keep)()


def test_secret_in_the_name_of_a_host_is_not_shown(
    world: World, conversation: Conversation, gates: Gates
) -> None:
    agents.configure(world.agent, by=world.owner, llm_api_key="canary-0123456789")
    folder = gates.folder(conversation.pk)
    folder.create()
    folder.write_policy(POLICY)
    booking = Booking(folder.booked)
    booking.begin("canary-0123456789.evil.example", 443, Reason.NOT_LISTED)
    booking.begin(f"{b'canary-0123456789'.hex()}.evil.example", 443, Reason.NOT_LISTED)
    keep(gates)
    assert {row[0] for row in rows(conversation)} == {"***.evil.example"}


def test_a_worker_counts_what_the_gate_has_booked_and_sets_its_policy(
    world: World, conversation: Conversation, gates: Gates
) -> None:
    folder = gates.folder(conversation.pk)
    started: list[bool] = []

    async def ensure_process() -> None:
        started.append(True)

    gates.ensure_process = ensure_process
    folder.create()
    folder.write_policy(POLICY)
    booking = Booking(folder.booked)
    booking.begin("pkgs.dev", 443)
    keep(gates)
    booking.end("pkgs.dev", 443, Reason.NONE, sent=1, received=2)
    keep(gates)
    keep(gates)
    assert rows(conversation) == [("pkgs.dev", 443, "", 1, 1, 2)]
    assert NetworkBook.objects.get().read_bytes == folder.booked.stat().st_size
    assert folder.read_policy().network is Network.NONE  # its project is closed
    assert started  # a process that was killed is started again between turns


def test_a_gate_that_was_removed_goes_on_with_the_budget_of_its_conversation(
    conversation: Conversation, gates: Gates, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def do_nothing() -> None:
        pass

    async def choose_gate(spec: SandboxSpec, *, used: Used) -> SandboxSpec:
        await gates.open(spec.conversation_id, POLICY, used=used)
        return spec

    gates.ensure_process = do_nothing
    manager = SimpleNamespace(with_gate=choose_gate)
    spec = SandboxSpec(conversation.pk, egress=POLICY)
    folder = gates.folder(conversation.pk)
    for total in (1, 2):
        async_to_sync(network_gates.with_gate)(spec, manager, DirectDatabase())
        booking = Booking(folder.booked, folder.earlier())
        booking.begin("pkgs.dev", 443)
        booking.end("pkgs.dev", 443, Reason.NONE, sent=1, received=2)
        assert (booking.requests, folder.earlier()) == (total, Used(total - 1, 3 * (total - 1)))
        again = Booking(folder.booked, folder.earlier())
        assert (again.requests, again.bytes) == (total, 3 * total)
        # While the folder is there, its own file says what was used since.
        async_to_sync(network_gates.with_gate)(spec, manager, DirectDatabase())
        assert folder.earlier() == Used(total - 1, 3 * (total - 1))
        keep(gates)
        monkeypatch.setattr(network_gates, "UNUSED_SECONDS", -1.0)
        keep(gates)
        assert gates.list_open() == []


def test_gates_of_deleted_conversations_and_unused_ones_are_removed(
    conversation: Conversation, gates: Gates, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, gone = gates.folder(conversation.pk), gates.folder(uuid.uuid4())
    probe = gates.folder(new_probe_id())  # the doctor asks it while a worker looks

    async def ensure_process() -> None:
        pass

    gates.ensure_process = ensure_process
    for folder in (kept, gone, probe):
        folder.create()
    keep(gates)
    assert {each.path for each in gates.list_open()} == {kept.path, probe.path}
    monkeypatch.setattr(network_gates, "UNUSED_SECONDS", -1.0)
    keep(gates)
    assert gates.list_open() == []
