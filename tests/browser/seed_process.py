"""One process beside the started Paca that runs the code of all seeds: to import Paca takes each process three seconds."""

import contextlib
import io
import json
import subprocess
import sys
import traceback

from django.db import connections

from tests.installation.manage_process import ROOT, Installation

SERVE = "from tests.browser import seed_process; seed_process.serve()"


class SeedProcess:
    """``SeedProcess(installation).run("print(1)")``; the process starts with the first code."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._process: subprocess.Popen[str] | None = None

    def run(self, code: str) -> str:
        """What the code printed. It runs as in a new ``manage.py shell``."""
        process = self._process = self._process or self._start()
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{json.dumps(code)}\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert not answer["error"], answer["error"]
        return str(answer["printed"])

    def end(self) -> None:
        if self._process:
            self._process.communicate(timeout=40)

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "shell", "-v0", "-c", SERVE],
            env=self._installation.environment(),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


def serve() -> None:
    """Run the code of each line until the input ends, and answer with what it printed and its exception."""
    answers = sys.stdout
    for line in sys.stdin:
        printed, error = io.StringIO(), ""
        try:
            with contextlib.redirect_stdout(printed):
                exec(json.loads(line), {})
        except Exception:  # noqa: BLE001 (the test shows it)
            error = traceback.format_exc()
        connections.close_all()
        print(json.dumps({"printed": printed.getvalue(), "error": error}), file=answers, flush=True)
