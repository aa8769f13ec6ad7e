"""Measures the figures of the given rows on the database of its environment."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from paca.engine.workspace import SandboxUnavailable
from tests.bench import environment
from tests.bench.figures import Figure, not_taken, row
from tests.bench.rows import ROWS


def main(names: list[str]) -> int:
    figures = []
    with environment.migrated_database() as folder:
        for name in names:
            try:
                figures.append(replace(_bench(name)(folder / name), name=name))
                cells = figures[-1].cells()
            except (SandboxUnavailable, pytest.skip.Exception) as reason:
                cells = not_taken(name, getattr(reason, "detail", None) or str(reason))
            print(row(cells), flush=True)
    return verdict(figures)


def _bench(name: str) -> Callable[[Path], Figure]:
    """The function of a row. Its module is imported only now, since it needs Django to be set up."""
    module, _, function = ROWS[name].function.partition(".")
    found: Callable[[Path], Figure] = getattr(
        importlib.import_module(f"tests.bench.{module}"), function
    )
    return found


def verdict(figures: list[Figure]) -> int:
    """Print the figures that miss their bar; gives the exit code."""
    short = [figure.name for figure in figures if figure.falls_short]
    for name in short:
        print(f"falls short: {name}", flush=True)
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
