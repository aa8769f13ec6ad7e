"""A figure, whether it keeps its bar, and how figures are printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

HEADINGS = ("name", "ours", "baseline", "ratio", "bar", "what is compared")
WIDTHS = (20, 13, 13, 6, 7, 0)


@dataclass(frozen=True)
class Figure:
    """What ours and the baseline cost in the same run.

    The bar stands on the ratio (``most_times``) or on our own cost (``at_most``, in ``unit``).
    ``compared`` says what both are, with database and process.
    """

    name: str
    ours: float
    baseline: float
    unit: str
    compared: str
    most_times: float | None = None
    at_most: float | None = None

    @property
    def ratio(self) -> float:
        return self.ours / self.baseline

    @property
    def falls_short(self) -> bool:
        if self.most_times is not None:
            return self.ratio > self.most_times
        assert self.at_most is not None, "a figure without a bar says nothing"
        return self.ours > self.at_most

    def cells(self) -> tuple[str, ...]:
        bar = (
            f"{self.at_most:g} {self.unit}" if self.most_times is None else f"{self.most_times:g}x"
        )
        return (
            self.name,
            f"{self.ours:.2f} {self.unit}",
            f"{self.baseline:.2f} {self.unit}",
            f"{self.ratio:.2f}x",
            bar,
            self.compared,
        )


def not_taken(name: str, reason: str) -> tuple[str, ...]:
    """The cells of a figure that this machine cannot measure; the reason is one line."""
    return (name, "not taken", "", "", "", " ".join(reason.split()))


def row(cells: Sequence[str]) -> str:
    """Cells under one another, also when each row is printed as it comes."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least this share of all samples does not exceed."""
    ordered = sorted(samples)
    return ordered[math.ceil(len(ordered) * share) - 1]
