"""How the terminal client runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """How the client runs."""

    message: str = ""  # one message, then the end; empty: a person types
    input_descriptor: int | None = None  # where a person types; None if nobody is there to decide
    as_json: bool = False
    thinking: bool = False
    command: str = "manage.py agent_chat"

    @property
    def asks(self) -> bool:
        """Whether a person is there to decide."""
        return self.input_descriptor is not None
