"""Redis is asked whether Paca can use it: every refusal has its name and next step."""

import pytest

from paca.bus.redis import server_state
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.service]

MIB = 1024 * 1024


@pytest.fixture
def program(own_valkey):
    """Another program, in a Redis of this test."""
    with own_valkey.client() as client:
        yield client


def meaning(server) -> str:
    return server_state.find_fault(server.url).meaning


def with_user(server, user: str) -> str:
    return server.url.replace("redis://", f"redis://{user}@")


def test_redis_that_accepts_entries_has_no_fault_and_the_check_adds_nothing(valkey):
    assert server_state.find_fault(valkey.url) is None
    with valkey.client() as program:
        assert program.keys("*") == []


def test_fault_names_a_full_memory(own_valkey, program):
    program.config_set("maxmemory", MIB // 2)
    assert meaning(own_valkey) == "refuses writes (OOM: its memory is full)"


def test_fault_names_a_replica(own_valkey, program):
    program.replicaof("127.0.0.1", 1)
    assert meaning(own_valkey) == "refuses writes (READONLY: it is a replica)"


async def test_fault_names_a_disk_that_takes_no_copy(own_valkey, program):
    program.config_set("save", "3600 1000")
    (own_valkey._folder / "dump.rdb").mkdir()
    program.bgsave()
    await until(lambda: program.info("persistence")["rdb_last_bgsave_status"] == "err")
    assert meaning(own_valkey) == "refuses writes (MISCONF: it cannot save to its disk)"


def test_fault_names_a_missing_permission(own_valkey, program):
    rights = ["~paca:*", "&paca.*", "+@all"]
    program.execute_command("ACL", "SETUSER", "reader", "on", ">pw", *rights, "-xadd")
    url = with_user(own_valkey, "reader:pw")
    fault = server_state.find_fault(url)
    assert (fault.meaning, fault.for_good) == ("refuses writes (NOPERM: its user may not)", True)
    program.execute_command("ACL", "SETUSER", "reader", "+xadd")
    assert server_state.find_fault(url) is None


@pytest.mark.parametrize("user", ["", ":wrong", "somebody:wrong"])
def test_fault_names_a_wrong_password(own_valkey, program, user):
    program.config_set("requirepass", "right")
    fault = server_state.find_fault(with_user(own_valkey, user) if user else own_valkey.url)
    assert (fault.meaning, fault.for_good) == ("rejects the user or the password", True)
    assert server_state.find_fault(with_user(own_valkey, ":right")) is None


def test_fault_names_a_password_that_no_redis_asked_for(valkey):
    fault = server_state.find_fault(with_user(valkey, ":needless"))
    assert (fault.meaning, fault.for_good) == ("rejects the user or the password", True)


def test_fault_names_a_redis_without_the_database(valkey):
    fault = server_state.find_fault(valkey.url.removesuffix("0") + "99")
    assert (fault.meaning, fault.for_good) == ("refuses the connection", True)
    assert "out of range" in fault.detail


def test_fault_names_a_redis_that_is_too_old(valkey, monkeypatch):
    monkeypatch.setattr(server_state, "MIN_VERSION", (99, 0))
    assert "and Paca needs 6.2 or newer" in meaning(valkey)


def test_fault_of_a_redis_that_is_away_is_not_for_good():
    fault = server_state.find_fault("redis://127.0.0.1:1/0")
    assert (fault.meaning, fault.for_good) == ("does not answer", False)


@pytest.mark.parametrize(
    ("policy", "is_risk"), [("noeviction", False), ("allkeys-lru", True), ("volatile-ttl", False)]
)
def test_risk_is_a_policy_that_evicts_waiting_entries(own_valkey, program, policy, is_risk):
    program.config_set("maxmemory-policy", policy)
    found = server_state.find_risks(own_valkey.url)
    assert [policy in meaning for meaning, _ in found] == [True] * is_risk


def test_risk_is_a_memory_that_is_nearly_full(own_valkey, program):
    program.config_set("maxmemory", program.info("memory")["used_memory"] + 1000)
    ((meaning, _),) = server_state.find_risks(own_valkey.url)
    assert "nearly full" in meaning
