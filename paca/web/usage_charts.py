"""The chart of the page of usage: days as bars, stacked by agent, as the shapes of an SVG.

Lengths are attributes of shapes and not styles, which the page's policy forbids. The server draws it, so
that it follows the theme, prints, and is there without scripts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from paca.web import avatars

WIDTH, LEFT, TOP, BASE = 1000.0, 52.0, 12.0, 204.0
MAX_SERIES = 5
OTHERS_TONE = 6  # grey; no agent gets it
MAX_DAY_LABELS = 14
GAP = 1.0  # between the parts of a bar
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MAX_TICKS = 4


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a day's bar: the share of one agent."""

    x: str
    y: str
    width: str
    height: str
    tone: int
    day: date
    name: str
    amount: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the grid."""

    y: str
    text_y: str
    amount: float


@dataclass(frozen=True, slots=True)
class DayLabel:
    """The text below a bar."""

    x: str
    text: str


@dataclass(frozen=True, slots=True)
class Series:
    """One agent of the chart, or all others together. ``key`` is None for those."""

    key: object
    name: str
    tone: int


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything that the SVG shows."""

    parts: tuple[Part, ...]
    ticks: tuple[Tick, ...]
    labels: tuple[DayLabel, ...]
    series: tuple[Series, ...]


def chart(
    days: Sequence[date],
    amounts: Mapping[tuple[date, object], float],
    names: Mapping[object, str],
) -> Chart:
    """The chart of the amount of each agent on each day. ``names`` has the agents, the first ones at the bottom."""
    series = _series(amounts, names)
    of_day: dict[date, dict[object, float]] = {day: {} for day in days}
    for (day, key), amount in amounts.items():
        of_day[day][key] = amount
    stacks = {day: _stack(of_day[day], series) for day in days}
    top = _top(max((sum(stack) for stack in stacks.values()), default=0.0))
    scale = (BASE - TOP) / top
    slot = (WIDTH - LEFT) / len(days)
    parts = [
        part
        for number, day in enumerate(days)
        for part in _bar(day, LEFT + slot * number, slot, stacks[day], series, scale)
    ]
    ticks = [_tick(amount, scale) for amount in _tick_amounts(top)]
    return Chart(tuple(parts), tuple(ticks), tuple(_labels(days, slot)), tuple(series))


def _series(
    amounts: Mapping[tuple[date, object], float], names: Mapping[object, str]
) -> list[Series]:
    """The agents with the largest amounts, and all others as one if there are more."""
    sums = dict.fromkeys(names, 0.0)
    for (_, key), amount in amounts.items():
        sums[key] += amount
    keys = sorted((key for key in names if sums[key] > 0), key=lambda key: -sums[key])
    shown, free = [], [tone for tone in range(1, avatars.TONES + 1) if tone != OTHERS_TONE]
    for key in keys[:MAX_SERIES]:
        own = avatars.avatar_tone(str(key))  # the colour of its avatar, if no other has taken it
        tone = own if own in free else free[0]
        free.remove(tone)
        shown.append(Series(key, names[key], tone))
    if len(keys) > MAX_SERIES:
        shown.append(Series(None, f"{len(keys) - MAX_SERIES} others", OTHERS_TONE))
    return shown


def _stack(amounts: Mapping[object, float], series: Sequence[Series]) -> list[float]:
    """The amounts of a day in the order of the series."""
    shown = {each.key for each in series}
    others = sum(amount for key, amount in amounts.items() if key not in shown)
    return [others if each.key is None else amounts.get(each.key, 0.0) for each in series]


def _top(highest: float) -> float:
    """The end of the axis: the next multiple of a round step above the highest bar."""
    if highest <= 0:
        return 1.0
    step = _step(highest)
    return step * math.ceil(round(highest / step, 6))


def _step(top: float) -> float:
    rough = top / MAX_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in STEPS if step * power >= rough * 0.999999)


def _tick_amounts(top: float) -> list[float]:
    step = _step(top)
    return [step * number for number in range(round(top / step) + 1)]


def _tick(amount: float, scale: float) -> Tick:
    y = BASE - amount * scale
    return Tick(_length(y), _length(y + 4), amount)


def _bar(
    day: date,
    x: float,
    slot: float,
    stack: Sequence[float],
    series: Sequence[Series],
    scale: float,
) -> list[Part]:
    parts, y = [], BASE
    for each, amount in zip(series, stack, strict=True):
        if amount <= 0:
            continue
        full = max(amount * scale, GAP + 1.0)  # a small amount is seen too
        y -= full
        parts.append(
            Part(
                _length(x + slot * 0.2),
                _length(max(y, 0.0)),
                _length(slot * 0.6),
                _length(full - GAP),
                each.tone,
                day,
                each.name,
                amount,
            )
        )
    return parts


def _labels(days: Sequence[date], slot: float) -> list[DayLabel]:
    """The month stands at the first label, and where it changes."""
    every = math.ceil(len(days) / MAX_DAY_LABELS)
    labels, month = [], 0
    for number in range(0, len(days), every):
        day = days[number]
        text = f"{day:%b} {day.day}" if day.month != month or every > 1 else str(day.day)
        month = day.month
        labels.append(DayLabel(_length(LEFT + slot * (number + 0.5)), text))
    return labels


def _length(value: float) -> str:
    return f"{value:.1f}"
