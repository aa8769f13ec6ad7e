"""The prices of models. A model that is not in the tables has an unknown price, not a price of 0."""

from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from paca.engine.llm import providers
from paca.engine.llm.base import COST_DIGITS, Usage

# The date on which this table was last compared with the provider's price page.
PRICES_AS_OF = "2026-11-27"
SOURCE = "https://platform.claude.com/docs/en/about-claude/pricing"
MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens. ``cache_write`` is for the five-minute cache, which we use.

    None means unknown: the cost of a call that used such tokens is then unknown too.
    """

    input: Decimal
    output: Decimal
    cache_read: Decimal | None
    cache_write: Decimal | None

    def cost(self, usage: Usage) -> Decimal | None:
        """The cost in US dollars, or None if it is unknown."""
        cost = usage.input * self.input + usage.output * self.output
        for tokens, price in (
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ):
            if tokens and price is None:
                return None
            cost += tokens * (price or 0)
        return cost / MILLION


@dataclass(frozen=True, slots=True)
class Tariff:
    """A model's price, and its price for prompts of more than ``long_from`` tokens if that differs."""

    price: Price
    long_price: Price | None = None
    long_from: int = 0

    def cost(self, usage: Usage) -> Decimal | None:
        """The cost in US dollars, or None if it is unknown."""
        prompt = usage.input + usage.cache_read + usage.cache_write
        if self.long_price is not None and prompt > self.long_from:
            return self.long_price.cost(usage)
        return self.price.cost(usage)


def _price(input: str, output: str, cache_read: str) -> Price:
    # For every listed model a write to the five-minute cache costs 1.25 times its input price.
    base = Decimal(input)
    return Price(base, Decimal(output), Decimal(cache_read), base * Decimal("1.25"))


_OPUS_4 = Tariff(_price("5", "25", "0.50"))
_SONNET_4 = Tariff(_price("3", "15", "0.30"))
_FABLE_5 = Tariff(_price("10", "50", "1"))
_FABLE_5_1 = Tariff(_price("10", "50", "0.25"))
_HAIKU_4_5 = Tariff(_price("1", "5", "0.10"))

TARIFFS = MappingProxyType(
    {
        "anthropic/claude-fable-5-2": Tariff(_price("8", "40", "0.20")),
        "anthropic/claude-opus-5-5": Tariff(_price("4", "20", "0.20")),
        "anthropic/claude-sonnet-5-5": Tariff(_price("2", "10", "0.10")),
        "anthropic/claude-haiku-5-5": Tariff(
            _price("0.10", "0.50", "0.01"),
            long_price=_price("0.50", "2.50", "0.05"),
            long_from=100_000,
        ),
        "anthropic/claude-fable-5-1": _FABLE_5_1,
        "anthropic/claude-mythos-5-1": _FABLE_5_1,
        "anthropic/claude-fable-5": _FABLE_5,
        "anthropic/claude-mythos-5": _FABLE_5,
        "anthropic/claude-opus-5": _OPUS_4,
        "anthropic/claude-sonnet-5": Tariff(_price("2", "10", "0.20")),
        "anthropic/claude-opus-4-8": _OPUS_4,
        "anthropic/claude-opus-4-7": _OPUS_4,
        "anthropic/claude-opus-4-6": _OPUS_4,
        "anthropic/claude-opus-4-5": _OPUS_4,
        "anthropic/claude-opus-4-5-20251101": _OPUS_4,
        "anthropic/claude-sonnet-4-6": _SONNET_4,
        "anthropic/claude-sonnet-4-5": _SONNET_4,
        "anthropic/claude-sonnet-4-5-20250929": _SONNET_4,
        "anthropic/claude-haiku-4-5": _HAIKU_4_5,
        "anthropic/claude-haiku-4-5-20251001": _HAIKU_4_5,
    }
)


def cost_usd(model: str, usage: Usage, *, base_url: str = "") -> float | None:
    """The cost of the tokens in US dollars, or None if the price is unknown.

    A cost that the provider reported wins. The tables hold the providers' own prices. Behind another
    base URL another price applies.
    """
    # guard: engine-reported-cost-wins
    if usage.reported_usd is not None:
        return usage.reported_usd
    tariff = None if base_url else TARIFFS.get(model) or _listed_tariff(model)
    cost = None if tariff is None else tariff.cost(usage)
    return None if cost is None else round(float(cost), COST_DIGITS)


def _listed_tariff(model: str) -> Tariff | None:
    """The tariff from ``models.json``, or None."""
    facts = providers.models().get(model)
    if not facts or "input" not in facts:
        return None
    long = facts.get("long")
    long_price = _listed_price({**facts, **long}) if long else None
    return Tariff(_listed_price(facts), long_price, facts.get("long_from", 0))


def _listed_price(facts: dict[str, Any]) -> Price:
    read, write = (facts.get(kind) for kind in ("cache_read", "cache_write"))
    return Price(
        Decimal(facts["input"]),
        Decimal(facts["output"]),
        Decimal(read) if read else None,
        Decimal(write) if write else None,
    )
