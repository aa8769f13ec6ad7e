"""A custom tool for the agents of Paca: it counts working days."""

from datetime import date, timedelta
from typing import Any

from pydantic import BaseModel, Field

MAX_DAYS = 10_000


class WorkingDays:
    """Counts working days. Paca makes a new object for each call, and runs it in a thread of its own."""

    name = "working_days"
    description = (
        "Count the working days (Monday to Friday) from one date to another, both included."
    )
    effect = "read_only"
    safe = True
    timeout_seconds = 10

    class Arguments(BaseModel):
        """The model writes these. Their types, limits and descriptions become the schema that it sees."""

        first: date = Field(description="The first day, such as 2026-03-02.")
        last: date = Field(description="The last day.")

    def handle(self, arguments: Arguments, call: Any) -> str:
        """Give the text for the model. ``async def`` works too."""
        days = (arguments.last - arguments.first).days + 1
        if not 0 < days <= MAX_DAYS:
            raise call.failed(f"last must be first or a later day, at most {MAX_DAYS} days later.")
        each = (arguments.first + timedelta(days=n) for n in range(days))
        count = sum(day.weekday() < 5 for day in each)
        return f"{count} working days of {days} days"
