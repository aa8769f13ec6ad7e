"""Template tags for figures of usage: short for people, and exact in ``value`` for programs."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from paca.conversations.usage import Figures

register = template.Library()
MILLION, THOUSAND = 1_000_000, 1_000


def dollars(amount: float) -> str:
    """Dollars with two digits, or with four below a cent, so that a cost never looks like none."""
    if amount == 0 or amount >= 0.01:
        return f"${amount:,.2f}"
    return f"${amount:.4f}" if amount >= 0.0001 else "< $0.0001"


def short_count(number: float) -> str:
    """A count in thousands or millions, such as "41.2 M"."""
    if number >= MILLION:
        return f"{number / MILLION:,.1f} M"
    if number >= 10 * THOUSAND:
        return f"{number / THOUSAND:,.1f} k"
    return f"{number:,.0f}"


@register.simple_tag
def cost(figures: Figures) -> SafeString:
    """The cost of the calls. What is not priced is said, and never shown as zero."""
    # guard: usage-page-says-what-is-not-priced
    if not figures.unpriced_calls:
        return _money(figures.priced_cost_usd)
    some = figures.unpriced_calls < figures.calls
    badge = format_html(
        '<span class="badge badge-wait" data-unpriced="{}">{}</span>',
        figures.unpriced_calls,
        f"{figures.unpriced_calls:,} not priced" if some else "Not priced",
    )
    if not figures.priced_cost_usd:
        return badge
    return format_html("{} {}", _money(figures.priced_cost_usd), badge)


def _money(amount: float) -> SafeString:
    return format_html('<data value="{}">{}</data>', f"{amount:.10f}", dollars(amount))


@register.simple_tag
def count(number: int) -> SafeString:
    """A count, short for people."""
    return format_html(
        '<data value="{}" title="{}">{}</data>', number, f"{number:,}", short_count(number)
    )


@register.simple_tag
def amount(number: float, by_tokens: bool) -> str:
    """An amount of the chart: dollars or tokens."""
    return short_count(number) if by_tokens else dollars(number)


@register.filter
def cached_percent(figures: Figures) -> str:
    """How much of what went in was read from a cache."""
    total = figures.tokens_in
    return f"{round(100 * figures.cache_read / total)} %" if total else ""
