"""Ports for test servers that are stopped and restarted: no other process gets theirs meanwhile."""

import random
import socket

# Below the ports that the kernel gives to clients and to servers that ask for any port.
LOWEST, HIGHEST = 15_000, 32_000

# random.random is seeded alike in each process of a shuffled suite.
_chance = random.SystemRandom()


def free() -> int:
    """A port of this machine on which no process listens."""
    while True:
        port = _chance.randint(LOWEST, HIGHEST)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:  # taken
            continue
        return port
