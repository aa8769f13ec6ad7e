"""Checks the health of the process of this container: exit code 0 or 1. Standard library only.

A web process answers ``/healthz``. A worker has no port; it touches a file while its loop runs.
"""

import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

SILENT_SECONDS = 30.0


def main() -> int:
    heartbeat = Path(os.environ.get("PACA_DATA_DIR", "var")) / "worker_heartbeat"
    if heartbeat.exists():
        return int(time.time() - heartbeat.stat().st_mtime > SILENT_SECONDS)
    port = os.environ.get("PACA_PORT", "") or "8000"
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"http://127.0.0.1:{port}/healthz", timeout=4) as answer:
            return int(answer.status != 200)
    except (urllib.error.URLError, OSError):
        return 1


if __name__ == "__main__":
    sys.exit(main())
