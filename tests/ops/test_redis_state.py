"""Readiness, metrics, doctor and the start report the state of a real Redis and its refused entries."""

import pytest

from paca.bus.redis import names
from paca.common.errors import ConfigurationError
from paca.ops import doctor, redis_check, split_deployment
from paca.ops.check_result import CheckResult
from tests.ops.test_metrics import TOKEN, figures
from tests.support.valkey_server import running

pytestmark = [pytest.mark.django_db, pytest.mark.service]


@pytest.fixture(scope="module")
def server():
    with running() as found:
        yield found


@pytest.fixture
def program(server, settings):
    """Another program in the Redis that this web process uses."""
    server.wipe()
    settings.REDIS_URL = server.url
    with server.client() as client:
        yield client
        client.config_set("maxmemory", 0)
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("requirepass", "")


def part(name: str) -> CheckResult:
    return next(each for each in doctor.check_running_installation() if each.part == name)


def readiness(client) -> str:
    return client.get("/readyz").json()["parts"]["bus"]


def test_readiness_reports_a_redis_at_its_maxmemory(client, program):
    assert readiness(client) == "ok"
    program.config_set("maxmemory", 1)
    assert readiness(client) == "refuses writes (OOM: its memory is full)"
    assert client.get("/readyz").status_code == 503
    assert part("Bus").state == "broken"
    assert "redis-cli --bigkeys" in part("Bus").next_step


def test_doctor_warns_of_an_evicting_policy(program):
    assert part("Bus").state == "ok"
    program.config_set("maxmemory-policy", "allkeys-lru")
    assert part("Bus").state == "todo"
    assert "allkeys-lru" in part("Bus").meaning
    assert "noeviction" in part("Bus").next_step


def test_served_application_refuses_a_wrong_redis_password(program):
    split_deployment.check_served_installation()
    program.config_set("requirepass", "right")
    with pytest.raises(ConfigurationError, match=r"rejects the user.*Next step: correct them"):
        split_deployment.check_served_installation()


def test_start_goes_on_without_a_redis_that_answers(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert redis_check.check_access().startswith("does not answer: text is not streamed")


def test_doctor_names_a_wrong_redis_password(program):
    program.config_set("requirepass", "right")
    assert part("Bus").state == "broken"
    assert "rejects the user or the password" in part("Bus").meaning
    assert "REDIS_URL" in part("Bus").next_step


def test_metrics_count_every_refused_entry(client, program, settings):
    settings.METRICS_TOKEN = TOKEN
    assert figures(client)["paca_triggers_dead",] == 0
    for _ in range(204):
        program.xadd(names.DEAD_TRIGGERS, {"type": "agent.dance", "reason": "No such type."})
    assert figures(client)["paca_triggers_dead",] == 204


def test_metrics_count_no_triggers_while_redis_does_not_tell(client, settings):
    settings.METRICS_TOKEN, settings.REDIS_URL = TOKEN, "redis://127.0.0.1:1/0"
    found = figures(client)
    assert ("paca_triggers_dead",) not in found
    assert found["paca_bus_up",] == 0


def test_doctor_names_refused_entries_with_the_newest_reason(program):
    assert part("Triggers").state == "ok"
    program.xadd(names.DEAD_TRIGGERS, {"type": "agent.dance", "reason": "No such type."})
    found = part("Triggers")
    assert (found.state, found.meaning) == (
        "todo",
        "1 entry of other programs refused; the newest: No such type.",
    )
    assert "/admin/conversations/trigger/refused" in found.next_step
