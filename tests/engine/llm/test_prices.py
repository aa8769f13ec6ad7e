"""Prices: each kind of token has its own, and an unknown price is None."""

import pytest

from paca.engine.llm.base import Usage
from paca.engine.llm.prices import PRICES_AS_OF, TARIFFS, cost_usd

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(), 0.0),
        (Usage(input=MILLION), 4.0),
        (Usage(output=MILLION), 20.0),
        (Usage(cache_read=MILLION), 0.2),
        (Usage(cache_write=MILLION), 5.0),
        (Usage(input=1000, output=500, cache_read=20_000, cache_write=3000), 0.033),
    ],
)
def test_price_differs_for_each_kind_of_token(usage, dollars):
    assert cost_usd("anthropic/claude-opus-5-5", usage) == pytest.approx(dollars, abs=1e-12)


@pytest.mark.parametrize("model", ["anthropic/claude-99", "demo/guide", "claude-opus-5-5", ""])
def test_price_of_an_unknown_model_is_none_and_not_zero(model):
    assert cost_usd(model, Usage(input=1000)) is None


def test_price_behind_another_base_url_is_unknown():
    assert cost_usd("anthropic/claude-opus-5-5", Usage(input=1), base_url="http://gateway") is None


@pytest.mark.parametrize("base_url", ["", "http://gateway"])
def test_cost_that_the_provider_reports_wins_over_the_table(base_url):
    usage = Usage(input=MILLION, reported_usd=0.125)
    assert cost_usd("anthropic/claude-opus-5-5", usage, base_url=base_url) == 0.125
    assert cost_usd("any/model", Usage(reported_usd=0.0)) == 0.0


def test_costs_keep_ten_digits_so_that_sums_of_them_are_exact():
    costs = [cost_usd("anthropic/claude-haiku-5-5", Usage(cache_write=n)) for n in range(1, 200)]
    assert all(cost == round(cost, 10) for cost in costs)
    assert round(sum(costs), 10) == round(sum(reversed(costs)), 10) == round(0.125e-6 * 19_900, 10)


def test_price_of_a_long_prompt_differs_if_the_provider_lists_one():
    model = "anthropic/claude-haiku-5-5"
    short = Usage(input=50_000, cache_read=50_000)
    long = Usage(input=50_000, cache_read=50_001, output=MILLION)
    assert cost_usd(model, short) == pytest.approx(0.0055)
    assert cost_usd(model, long) == pytest.approx(0.025 + 0.05 * 50_001 / MILLION + 2.5)


def test_prices_are_positive_and_cache_reads_cost_no_more_than_input():
    for model, tariff in TARIFFS.items():
        for price in filter(None, (tariff.price, tariff.long_price)):
            assert 0 < price.cache_read < price.input < price.cache_write < price.output, model


def test_price_table_has_the_date_of_its_last_comparison():
    assert PRICES_AS_OF >= "2026-11"
