"""The bench names each figure over its bar, and then ends with exit code 1."""

import importlib
from contextlib import nullcontext

import pytest

from tests.bench import containers, run_rows
from tests.bench.figures import Figure, percentile, row
from tests.bench.rows import ROWS, chosen
from tests.bench.run_rows import verdict


def ratio(ours: float) -> Figure:
    return Figure("turn", ours, 4, "ms CPU", "ours / bare", most_times=3)


def cost(ours: float) -> Figure:
    return Figure("memory", ours, 40, "MB", "ours / bare", at_most=150)


@pytest.mark.parametrize("figure", [ratio(12.1), cost(151)])
def test_bench_names_a_figure_over_its_bar_and_fails(figure, capsys):
    assert verdict([ratio(12), figure, cost(150)]) == 1
    assert capsys.readouterr().out == f"falls short: {figure.name}\n"


def test_bench_passes_figures_at_their_bars(capsys):
    assert verdict([ratio(12), cost(150)]) == 0
    assert capsys.readouterr().out == ""


def test_bench_row_shows_both_sides_their_ratio_and_the_bar():
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


def test_bench_shows_a_row_for_a_figure_that_this_machine_cannot_measure(
    capsys, monkeypatch, tmp_path
):
    monkeypatch.setattr(run_rows.environment, "migrated_database", lambda: nullcontext(tmp_path))
    monkeypatch.setattr(
        containers.docker_backend, "reason_against", lambda: "Docker does not\nanswer."
    )
    assert run_rows.main(["echo-docker"]) == 0
    said = capsys.readouterr().out
    assert said.split() == ["echo-docker", "not", "taken", "Docker", "does", "not", "answer."]


def test_percentile_95_of_100_values_is_exceeded_by_five():
    samples = [float(n) for n in range(100)]
    assert sum(sample > percentile(samples, 0.95) for sample in samples) == 5


def test_bench_selection_takes_one_row_or_one_figure_on_all_set_ups():
    assert chosen("turn-postgresql") == ["turn-postgresql"]
    assert chosen("turn") == ["turn-sqlite", "turn-postgresql"]
    assert chosen("late-turn") == ["late-turn-sqlite", "late-turn-postgresql"]
    assert chosen("viewers") == ["viewers"]
    assert chosen("") == list(ROWS)
    assert chosen("tur") == []


@pytest.mark.parametrize("function", sorted({row.function for row in ROWS.values()}))
def test_bench_row_names_functions_that_exist(function):
    module, _, name = function.partition(".")
    assert callable(getattr(importlib.import_module(f"tests.bench.{module}"), name))
