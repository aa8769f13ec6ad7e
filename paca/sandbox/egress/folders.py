"""The files by which workers and the gate process know of each other: one folder for each conversation.

``policy.json`` is written by the worker. ``booked.jsonl`` is written by the gate and read by workers. The folder
``inside`` is mounted read-only into the sandbox and holds the socket of the gate.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from paca.common.network_policy import CLOSED, EgressPolicy
from paca.sandbox.egress.booking import UNUSED, Used

ROOT = "egress"
SOCKET_NAME = "gate"
BOOKED_NAME = "booked.jsonl"
MARKS_NAME = "marks"


class GateFolder:
    """The folder of one conversation below ``root``."""

    def __init__(self, root: Path, conversation_id: UUID) -> None:
        self.path = root / str(conversation_id)
        self.conversation_id = conversation_id

    @property
    def policy(self) -> Path:
        """The file with the policy."""
        return self.path / "policy.json"

    @property
    def booked(self) -> Path:
        """The file with one line for the begin and one for the end of each connection."""
        return self.path / BOOKED_NAME

    @property
    def opened(self) -> Path:
        """The file with the name of this book, and with what the conversation had used before.

        Its time is that of the last start of a sandbox.
        """
        return self.path / "opened"

    def book(self) -> tuple[str, int]:
        """The name of the list of connections, which no other folder has, and its bytes; empty if there is none."""
        try:
            return self._opened()[0], self.booked.stat().st_size
        except OSError:
            return "", 0

    def earlier(self) -> Used:
        """What the conversation had used when this folder was made. Raises ``OSError`` or ``ValueError``."""
        _, *numbers = self._opened()
        requests, transferred = map(int, numbers or ("0", "0"))  # an older version wrote none
        return Used(requests, transferred)

    def _opened(self) -> list[str]:
        return self.opened.read_text(encoding="ascii").split(" ")

    @property
    def inside(self) -> Path:
        """The folder that the sandbox sees. Others than its owner get to it by that mount only."""
        return self.path / "inside"

    @property
    def socket(self) -> Path:
        """The socket of the gate."""
        return self.inside / SOCKET_NAME

    def create(self, earlier: Used = UNUSED) -> None:
        """Make the folders, unless they are there. ``earlier``: what the conversation has used. Raises ``OSError``."""
        self.path.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path.parent.mkdir(exist_ok=True, mode=0o700)
        self.path.mkdir(exist_ok=True, mode=0o700)
        self.inside.mkdir(exist_ok=True)
        self.inside.chmod(0o755)  # the user inside is another one
        unfinished = self.path / f"opened.{os.urandom(4).hex()}"
        words = os.urandom(16).hex(), str(earlier.requests), str(earlier.bytes)
        unfinished.write_text(" ".join(words), encoding="ascii")
        with suppress(FileExistsError):  # a link appears whole, and never replaces another
            self.opened.hardlink_to(unfinished)
        unfinished.unlink()
        os.utime(self.opened)

    def write_policy(self, policy: EgressPolicy) -> bool:
        """Replace the policy; False if it is the same already. Raises ``OSError``."""
        text = policy.to_json()
        with suppress(OSError):
            if self.policy.read_text(encoding="utf-8") == text:
                return False
        unfinished = self.policy.with_suffix(f".{os.urandom(4).hex()}")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.rename(self.policy)
        return True

    def read_policy(self) -> EgressPolicy:
        """The policy; a missing or damaged one is closed."""
        try:
            return EgressPolicy.from_json(self.policy.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return CLOSED

    def remove(self) -> None:
        """Remove the folder, and with it the gate of the conversation."""
        shutil.rmtree(self.path, ignore_errors=True)


def list_folders(root: Path) -> Iterator[GateFolder]:
    """The folders of all conversations that have a gate."""
    with suppress(FileNotFoundError):
        for path in root.iterdir():
            with suppress(ValueError):
                yield GateFolder(root, UUID(path.name))
