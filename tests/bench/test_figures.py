"""A figure over its bar is told, and ends the bench with 1."""

import pytest

from tests.bench.__main__ import verdict
from tests.bench.figures import Figure, percentile, row


def ratio(ours: float) -> Figure:
    return Figure("turn", ours, 4, "ms CPU", "ours / bare", most_times=3)


def cost(ours: float) -> Figure:
    return Figure("memory", ours, 40, "MB", "ours / bare", at_most=150)


@pytest.mark.parametrize("figure", [ratio(12.1), cost(151)])
def test_a_figure_over_its_bar_is_named_and_fails_the_bench(figure, capsys):
    assert verdict([ratio(12), figure, cost(150)]) == 1
    assert capsys.readouterr().out == f"falls short: {figure.name}\n"


def test_figures_at_their_bars_pass(capsys):
    assert verdict([ratio(12), cost(150)]) == 0
    assert capsys.readouterr().out == ""


def test_a_row_shows_both_sides_their_ratio_and_the_bar():
    assert row(ratio(6).cells()).split() == [
        "turn",
        "6.00",
        "ms",
        "CPU",
        "4.00",
        "ms",
        "CPU",
        "1.50x",
        "3x",
        "ours",
        "/",
        "bare",
    ]


def test_the_95th_percentile_of_100_is_exceeded_by_five():
    samples = [float(n) for n in range(100)]
    assert sum(sample > percentile(samples, 0.95) for sample in samples) == 5
