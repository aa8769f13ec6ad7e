"""Ports for servers of tests that are stopped and come back: nobody is given theirs meanwhile."""

import random
import socket

# Below those that a kernel hands out by itself, to whoever connects or asks for any port.
LOWEST, HIGHEST = 15_000, 32_000

# The usual one is seeded alike in each process of a shuffled suite.
_chance = random.SystemRandom()


def free() -> int:
    """A port of this machine that nobody listens on."""
    while True:
        port = _chance.randint(LOWEST, HIGHEST)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:  # taken
            continue
        return port
