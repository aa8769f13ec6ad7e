"""Sends the requests of one set-up: ``python -m tests.fuzz.run SETUP SEED REQUESTS SECONDS``."""

from __future__ import annotations

import os
import sys
import time

from tests.chaos.testbed import open_testbed


def main(name: str, seed: str, requests: str, seconds: str) -> int:
    ends_at = time.monotonic() + float(seconds)
    os.environ["LOG_LEVEL"] = "ERROR"  # each refused request would be a line
    with open_testbed(name, sandbox="bubblewrap"):
        # These modules need Django to be set up.
        from django.conf import settings

        from paca.asgi import application
        from tests.fuzz.operations import all_operations
        from tests.fuzz.sender import Sender
        from tests.support.live_server import running

        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
        with running(application) as server:
            sender = Sender(server.url, seed=f"{name} {seed}", ends_at=ends_at)
            for operation, share in all_operations(int(requests)):
                if os.environ.get("ONLY") in (None, "", operation.label):
                    sender.send_to(operation, share)
    for line in sender.report():
        print(f"{name}: {line}", flush=True)
    return int(bool(sender.faults))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
