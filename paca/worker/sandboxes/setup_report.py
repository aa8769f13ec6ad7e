"""What a run of setup commands tells: the end of its output and the hosts that it reached, both without secrets."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from paca.common.secret_removal import SecretMask
from paca.common.text import to_storable
from paca.conversations.sandbox_setups import MAX_OUTPUT_CHARACTERS
from paca.engine.workspace import CommandOutcome
from paca.sandbox.egress.booking import Booked, read_lines
from paca.sandbox.egress.folders import GateFolder
from paca.sandbox.egress.reasons import Reason

MAX_TOLD_CHARACTERS = 1500
MAX_HOSTS, MAX_READ_BYTES = 200, 1 << 20


class SetupReport:
    """The output so far, and what the network gate in ``folder`` has booked."""

    def __init__(self, mask: SecretMask, folder: GateFolder) -> None:
        self._mask = mask
        self._folder = folder
        self._raw = ""
        self._printed = asyncio.Event()
        self._read_to = 0
        self._hosts: dict[tuple[str, int, str], dict[str, Any]] = {}
        self._reading = threading.Lock()  # the end of the commands may come during a look

    def add_output(self, piece: str) -> None:
        """Add what the commands have printed."""
        self._raw += piece
        self._printed.set()
        # More than is shown: a secret at the cut would not be recognized.
        if len(self._raw) > 4 * MAX_OUTPUT_CHARACTERS:
            self._raw = self._raw[-2 * MAX_OUTPUT_CHARACTERS :]

    def replace_output(self, outcome: CommandOutcome) -> None:
        """Take the whole output, as the runner has kept it."""
        self._raw = outcome.output

    @property
    def output(self) -> str:
        """The end of the output."""
        # guard: setup-output-holds-no-secret
        text = self._mask.text(to_storable(self._raw))
        return text[-MAX_OUTPUT_CHARACTERS:]

    async def printed(self) -> None:
        """Wait until the commands print; at once if they have since the last call."""
        await self._printed.wait()
        self._printed.clear()

    @property
    def end(self) -> str:
        """The last lines, for an error."""
        return self.output.strip()[-MAX_TOLD_CHARACTERS:]

    def network(self) -> list[dict[str, Any]]:
        """The hosts that were reached or refused until now. Reads a file; call it in a thread."""
        with self._reading:
            lines, self._read_to = read_lines(
                self._folder.booked, self._read_to, most=MAX_READ_BYTES
            )
            for line in lines:
                self._count(line)
            return [dict(each) for each in self._hosts.values()]

    def _count(self, line: Booked) -> None:
        host = self._mask.text(line.host)
        key = (host, line.port, line.reason.value)
        if key not in self._hosts and len(self._hosts) >= MAX_HOSTS:
            host, key = "", ("", 0, line.reason.value)
        found = self._hosts.setdefault(
            key,
            {
                **{"host": host, "port": key[1], "reason": key[2]},
                **{"connections": 0, "sent_bytes": 0, "received_bytes": 0},
            },
        )
        found["connections"] += int(line.begins or line.reason is not Reason.NONE)
        found["sent_bytes"] += line.sent
        found["received_bytes"] += line.received
