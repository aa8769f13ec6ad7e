"""The key by which the broker knows workers: the network gate of the same user can connect too, and reads it not."""

from __future__ import annotations

import hmac
import os
from contextlib import suppress
from pathlib import Path

NAME = "key"
BYTES = 32
LENGTH = 2 * BYTES  # as text


def create(folder: Path) -> None:
    """Make the key of the broker in this folder, unless it has one. One that a crash has cut off is replaced.

    Raises ``OSError``.
    """
    with suppress(FileNotFoundError):
        if len(read(folder)) != LENGTH:
            (folder / NAME).unlink()
    unfinished = folder / f"{NAME}.{os.urandom(4).hex()}"
    unfinished.touch(mode=0o600)
    unfinished.write_text(os.urandom(BYTES).hex(), encoding="ascii")
    with suppress(FileExistsError):  # a link appears whole, and never replaces another
        (folder / NAME).hardlink_to(unfinished)
    unfinished.unlink()


def read(folder: Path) -> str:
    """The key of the broker in this folder. Raises ``OSError``."""
    return (folder / NAME).read_text(encoding="ascii", errors="replace")


def is_right(folder: Path, sent: object) -> bool:
    """Whether the text is the key of the broker in this folder. One that is not whole is none. Raises ``OSError``."""
    known = read(folder)
    # guard: broker-key-is-whole
    if len(known) != LENGTH:
        return False
    return isinstance(sent, str) and hmac.compare_digest(sent.encode(), known.encode())
