"""The contrast of every text colour on every surface, from the tokens, by the formula of WCAG."""

import re
from collections.abc import Iterator

import pytest

from tests.web.sources import STATIC

PAIR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
PAIRS = {name: pair for name, *pair in PAIR.findall((STATIC / "tokens.css").read_text())}
SURFACES = ("bg-sidebar", "bg-canvas", "bg-surface", "bg-raised", "bg-sunken", "bg-hover")
STATES = ("ok", "wait", "bad", "hold", "idle")
TEXT, CONTROL = 4.5, 3.0


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def wanted() -> Iterator[tuple[str, str, float]]:
    for text in ("text", "text-2", "text-3", "accent"):
        yield from ((text, surface, TEXT) for surface in (*SURFACES, "bg-active"))
    for state in STATES:
        yield from ((state, surface, TEXT) for surface in (*SURFACES, f"{state}-soft"))
    for soft in ("ok", "wait", "bad", "hold", "accent"):
        yield "text-2", f"{soft}-soft", TEXT
    yield from (("accent", "accent-soft", TEXT), ("on-accent", "accent", TEXT))
    yield from (("on-ink", "ink", TEXT), ("on-danger", "danger-solid", TEXT))
    for text in ("text", "text-2", "text-3"):
        yield from ((text, surface, TEXT) for surface in ("diff-add", "diff-del"))
    yield from ((f"tone-{each}-ink", f"tone-{each}", TEXT) for each in range(1, 7))
    for surface in ("bg-canvas", "bg-surface", "bg-raised", "bg-sunken"):
        yield "line-control", surface, CONTROL


def test_contrast_of_black_on_white_is_21_to_1() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize(("front", "back", "least"), [*wanted()])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colour_pair_is_readable(front: str, back: str, least: float, theme: str) -> None:
    at = ("light", "dark").index(theme)
    assert contrast(PAIRS[front][at], PAIRS[back][at]) >= least
