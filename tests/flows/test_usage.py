"""Usage of whole journeys: page, API, file and conversations say what the rows of model calls add up to."""

import re
from typing import Any

import pytest
from django.test import Client

from paca.conversations.models import ModelCall
from tests.conversations.test_usage import read_csv, sum_of_rows
from tests.support.api import Api
from tests.support.flow import Flow, assert_replay_matches, wait_until
from tests.support.model_script import calls, fails, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@pytest.mark.parametrize("flow", ["openai"], indirect=True)
def test_usage_of_answers_retries_failures_stops_and_tests_is_the_sum_of_their_calls(flow):
    answered = flow.ask(
        "Where?",
        [
            calls(think="Hm.").costing(0.0625),
            fails("500", retry_after=0.01),
            says("Here.").costing(0.125),
        ],
    )
    failed = flow.ask("More", [fails("badrequest")])
    unpriced = flow.ask("Again", [says("No price.")])
    stopped = flow.begin("Stop this", [says("A long answer. " * 400).slowly(tps=40)])
    wait_until(lambda: ModelCall.objects.filter(status="started").exists())
    flow.stop(stopped)
    flow.wait_until_idle(stopped)
    flow.model.script([says("ready").costing(0.25)])
    api = Api(flow.world.user)
    tested = f"/projects/{flow.world.project.pk}/agents/{flow.world.agent.pk}/test-connection/"
    assert api.post(tested).data["works"]

    rows = list(ModelCall.objects.all())
    ends = {(row.purpose, row.status) for row in rows}
    assert ends == {
        ("turn", "done"),
        ("turn", "failed"),
        ("turn", "cancelled"),
        ("connection_test", "done"),
    }
    assert len(rows) == len(flow.model.requests)  # a call for each request, whoever made it
    expected = sum_of_rows(rows)
    assert expected["priced_cost_usd"] == 0.4375
    assert (
        expected["unpriced_calls"] == 4
    )  # the retried, the failed, the unpriced and the stopped one
    for group in ("day", "agent", "model", "project", "purpose"):
        _assert_same(api, flow, group, expected)
    _assert_page_shows(flow, expected)
    for conversation in (answered, failed, unpriced, stopped):
        assert_replay_matches(conversation)


def _assert_same(api: Api, flow: Flow, group: str, expected: dict[str, Any]) -> None:
    """The report, the sum of its rows, and the sum of the rows of the file are the same."""
    address = f"/projects/{flow.world.project.pk}/usage"
    report = api.get(f"{address}/?group={group}").data
    assert report["total"] == expected
    lines = read_csv(api, f"{address}.csv?group={group}")
    for name, whole in expected.items():
        if name != "cost_usd":
            assert round(sum(row[name] for row in report["results"]), 10) == whole
            assert round(sum(float(line[name]) for line in lines), 10) == whole


def _assert_page_shows(flow: Flow, expected: dict[str, Any]) -> None:
    browser = Client()
    browser.force_login(flow.world.user)
    page = browser.get(f"/projects/{flow.world.project.pk}/usage/").content.decode()
    cost = re.search(r'data-total-cost><data value="([\d.]+)">', page)
    counted = re.search(r'data-total-calls><data value="(\d+)"', page)
    tokens = re.search(r'data-total-tokens><data value="(\d+)"', page)
    assert cost
    assert counted
    assert tokens
    assert float(cost[1]) == expected["priced_cost_usd"]
    assert int(counted[1]) == expected["calls"]
    kinds = ("input", "output", "cache_read", "cache_write")
    assert int(tokens[1]) == sum(expected[kind] for kind in kinds)
    assert f"{expected['unpriced_calls']} not priced" in page
