"""Usage reports as CSV (RFC 4180), for spreadsheets."""

import csv
import io
import re

from paca.conversations.usage import Report

COLUMNS = ("calls", "input", "output", "cache_read", "cache_write")
HEADER = ("key", "name", *COLUMNS, "cost_usd", "priced_cost_usd", "unpriced_calls")
# A spreadsheet runs a cell that begins with one of these as a formula. Where the comma is the decimal sign, it
# splits lines at semicolons, whatever is quoted: a cell may begin within a text.
FORMULA = re.compile(r"^(?= *[-=+@\t\r\n＝＋－＠])|(?<=[;\t\r\n])(?= *[-=+@＝＋－＠])")


def to_csv(report: Report) -> bytes:
    """The rows of the report in UTF-8, without its total. An unknown cost is empty, never 0."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(HEADER)
    for row in report.rows:
        figures = row.figures
        writer.writerow(
            (
                _safe(row.key),
                _safe(row.name),
                *(getattr(figures, name) for name in COLUMNS),
                _dollars(figures.cost_usd),
                _dollars(figures.priced_cost_usd),
                figures.unpriced_calls,
            )
        )
    return text.getvalue().encode()


def _safe(text: str) -> str:
    """The text with an apostrophe before each part of it that a spreadsheet would run."""
    # guard: usage-csv-holds-no-formula
    return FORMULA.sub("'", text)


def _dollars(amount: float | None) -> str:
    return "" if amount is None else f"{amount:.10f}".rstrip("0").removesuffix(".")
