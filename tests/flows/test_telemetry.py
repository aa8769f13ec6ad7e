"""Turns as spans of OpenTelemetry: sent to a collector over real HTTP, and never in the way of a turn."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paca import env
from paca.common.best_effort import failures
from paca.common.errors import ConfigurationError
from paca.conversations.telemetry import turn_ends
from paca.worker import telemetry
from tests.conversations.chat import download
from tests.support.api import Api
from tests.support.flow import Flow, wait_until
from tests.support.json_server import Asked, JsonServer
from tests.support.model_script import calls, fails, says

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "sk-test-1234"
WORDS = f"Count the quokkas with {KEY}"


class Collector:
    """What a collector has received. It answers with the ``statuses`` in turn, then with 200."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.server = JsonServer(self._answer)

    def _answer(self, _: Asked) -> tuple[int, Any]:
        return (self.statuses.pop(0) if self.statuses else 200), {}

    @property
    def asked(self) -> list[Asked]:
        return self.server.asked

    def spans(self, number: int = -1) -> dict[str, dict[str, Any]]:
        """The spans of a request by their names, with attributes as a dictionary."""
        return spans_of(json.loads(self.asked[number].body))


def spans_of(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    (resource,) = body["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    found = {}
    for span in scope["spans"]:
        values = {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}
        name = span["name"]
        found[name + f" #{len(found)}" * (name in found)] = {**span, "attributes": values}
    return found


@pytest.fixture
def collector() -> Iterator[Collector]:
    found = Collector()
    with found.server:
        yield found


@pytest.fixture
def watched(
    transactional_db: None,
    tmp_path: Path,
    settings: Any,
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Flow]:
    """A flow whose worker exports to the collector."""
    monkeypatch.setattr(telemetry, "RETRY_SECONDS", 0.01)
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = collector.server.base_url
    settings.OTEL_EXPORTER_OTLP_HEADERS = {"x-collector-key": "collector-secret"}
    with Flow(tmp_path, dialect="anthropic") as flow:
        yield flow


def test_turn_is_sent_as_spans_without_contents(watched: Flow, collector: Collector) -> None:
    replies = [
        calls(bash={"command": "echo quokka"}),
        fails("529", retry_after=0.01),
        says("There are two quokkas."),
    ]
    conversation = watched.ask(WORDS, replies)
    wait_until(lambda: bool(collector.asked), 10)
    (asked,) = collector.asked
    assert (asked.method, asked.path) == ("POST", "/v1/traces")
    assert asked.headers["x-collector-key"] == "collector-secret"
    assert asked.headers["content-type"] == "application/json"
    assert "quokka" not in asked.body
    assert KEY not in asked.body
    spans = collector.spans()
    agent, model = watched.world.agent, watched.world.agent.model.partition("/")[2]
    turn = spans[f"invoke_agent {agent.name}"]
    assert "parentSpanId" not in turn
    assert len({each["traceId"] for each in spans.values()}) == 1
    by_id = {each["spanId"]: each for each in spans.values()}
    parents = {name: by_id[each["parentSpanId"]]["name"] for name, each in spans.items() if each is not turn}  # fmt: skip
    assert parents == {
        "step": turn["name"],
        f"chat {model}": "step",
        "execute_tool bash": "step",
        "step #4": turn["name"],
        f"chat {model} #5": "step",
        f"chat {model} #6": "step",
    }
    failed, done = spans[f"chat {model} #5"], spans[f"chat {model} #6"]
    assert failed["parentSpanId"] == done["parentSpanId"] == spans["step #4"]["spanId"]
    assert (failed["status"]["code"], done["status"]) == (2, {})
    assert failed["attributes"]["error.type"] == "failed"
    assert done["attributes"]["gen_ai.operation.name"] == "chat"
    assert done["attributes"]["gen_ai.provider.name"] == "anthropic"
    assert done["attributes"]["gen_ai.conversation.id"] == str(conversation.id)
    assert int(done["attributes"]["gen_ai.usage.output_tokens"]) > 0
    assert spans["execute_tool bash"]["attributes"]["gen_ai.tool.name"] == "bash"
    for each in spans.values():
        assert int(turn["startTimeUnixNano"]) <= int(each["startTimeUnixNano"])
        assert int(each["startTimeUnixNano"]) <= int(each["endTimeUnixNano"])
        assert int(each["endTimeUnixNano"]) <= int(turn["endTimeUnixNano"])
    # The download has the same spans.
    project = watched.world.project.pk
    address = f"/projects/{project}/conversations/{conversation.id}/trace/export/?format=otlp"
    exported = download(Api(watched.world.user).get(address))
    assert spans_of(json.loads(exported)) == spans


def test_contents_are_sent_on_request_without_secrets(
    watched: Flow, collector: Collector, settings: Any
) -> None:
    settings.OTEL_CAPTURE_MESSAGE_CONTENT = True
    watched.ask(WORDS, [calls(bash={"command": f"echo {KEY} quokka"}), says("Two quokkas.")])
    wait_until(lambda: bool(collector.asked), 10)
    assert KEY not in collector.asked[0].body
    spans = collector.spans()
    turn = spans["invoke_agent Rosa"]["attributes"]
    asked = json.loads(turn["gen_ai.input.messages"])
    assert asked == [{"role": "user", "parts": [{"type": "text", "content": "Count the quokkas with ***"}]}]  # fmt: skip
    assert "Two quokkas." in turn["gen_ai.output.messages"]
    tool = spans["execute_tool bash"]["attributes"]
    assert json.loads(tool["gen_ai.tool.call.arguments"]) == {"command": "echo *** quokka"}
    assert tool["gen_ai.tool.call.result"].startswith("*** quokka\n")


def test_turn_that_is_sent_again_makes_the_same_spans(watched: Flow, collector: Collector) -> None:
    collector.statuses = [503, 429]
    before = failures["telemetry"]
    watched.ask("Hello", [says("Hi.")])
    wait_until(lambda: len(collector.asked) == 3, 10)
    assert len({each.body for each in collector.asked}) == 1
    watched.stop_worker()
    assert failures["telemetry"] == before


@pytest.mark.parametrize("fault", ["refused", "dead", "broken"])
def test_collector_that_does_not_take_spans_costs_a_counted_drop(
    watched: Flow,
    collector: Collector,
    settings: Any,
    fault: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if fault == "refused":
        collector.statuses = [400] * 9
    elif fault == "dead":
        settings.OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:1"
    else:
        monkeypatch.setattr("paca.conversations.telemetry.otlp.request", lambda *_, **__: 1 / 0)
    before = failures["telemetry"]
    assert watched.ask("Hello", [says("Hi.")]).answers == ["Hi."]
    wait_until(lambda: failures["telemetry"] == before + 1, 10)
    assert watched.ask("Again", [says("Hi again.")]).answers == ["Hi again."]
    wait_until(lambda: failures["telemetry"] == before + 2, 10)
    assert len(collector.asked) == (2 if fault == "refused" else 0)


def test_worker_that_ends_sends_what_waits(watched: Flow, collector: Collector) -> None:
    watched.ask("Hello", [says("Hi.")])
    watched.stop_worker()
    assert len(collector.asked) == 1


def test_nothing_is_sent_without_an_address(flow: Flow) -> None:
    flow.ask("Hello", [says("Hi.")])
    assert turn_ends._listeners == []


def test_address_and_headers_of_the_collector_are_checked_and_no_value_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "OTEL_EXPORTER_OTLP_HEADERS"
    monkeypatch.setitem(env.VARIABLES, name, env.VARIABLES[name])
    monkeypatch.setenv(name, "Api-Key=a%20secret, x=1==")
    assert env.header_pairs(name, meaning="x") == {"api-key": "a secret", "x": "1=="}
    for wrong in ("secret", "=secret", "a b=secret", "key=", "key=secret%0D%0Ax: y", "key=sécret"):
        monkeypatch.setenv(name, wrong)
        with pytest.raises(ConfigurationError) as refused:
            env.header_pairs(name, meaning="x")
        assert "ecret" not in str(refused.value).replace("api-key=secret", "")
    name = "OTEL_EXPORTER_OTLP_ENDPOINT"
    monkeypatch.setitem(env.VARIABLES, name, env.VARIABLES[name])
    monkeypatch.setenv(name, "https://collector.example:4318/otlp/")
    assert env.http_address(name, meaning="x") == "https://collector.example:4318/otlp"
    for wrong in ("localhost:4318", "ftp://x", "http://", "http://a b", "http://x?y"):
        monkeypatch.setenv(name, wrong)
        with pytest.raises(ConfigurationError):
            env.http_address(name, meaning="x")
