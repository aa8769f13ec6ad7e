"""Every bench by the name of its figure. Imports what needs Django to be set up."""

from collections.abc import Callable
from pathlib import Path

from tests.bench import acknowledging, commands, memory, starting, turns
from tests.bench.figures import Figure

BENCHES: dict[str, Callable[[Path], Figure]] = {
    "turn": turns.cpu_per_turn,
    "late-turn": turns.late_turn,
    "echo": commands.echo,
    "sandbox": starting.sandbox,
    "ack": acknowledging.message_to_acknowledgement,
    "memory": memory.idle,
}
