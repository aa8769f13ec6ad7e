"""Tokens and cost in words, for the admin and exports: what is unknown is said, and never shown as zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def format_cost(priced_usd: float, unpriced_calls: int, *, digits: int = 4) -> str:
    """Dollars of all calls; "unknown" if no price is known, and both parts if some are."""
    known = f"${priced_usd:,.{digits}f}"
    if not unpriced_calls:
        return known
    calls = "1 call" if unpriced_calls == 1 else f"{unpriced_calls:,} calls"
    return f"{known} and {calls} of unknown cost" if priced_usd else "unknown"


def tokens_in(usage: Mapping[str, Any]) -> int:
    """All tokens that went in. Providers count the cached ones apart, and they count all the same."""
    return sum(usage[kind] or 0 for kind in ("input", "cache_read", "cache_write"))


IN_WORDS = "{} in{}, {} out"
IN_AND_OUT = "{}{} / {}"  # for a column with this heading


def format_tokens(usage: Mapping[str, Any], unpriced_calls: int, *, pattern: str = IN_WORDS) -> str:
    """Tokens in and out, such as "1,010 in (900 cached), 55 out".

    "unknown" if the server told none: its calls have no price then.
    """
    total, out = tokens_in(usage), usage["output"] or 0
    if not (total or out) and unpriced_calls:
        return "unknown"
    cached = usage["cache_read"] or 0
    return pattern.format(f"{total:,}", f" ({cached:,} cached)" if cached else "", f"{out:,}")
