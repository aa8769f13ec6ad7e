"""A process of pytest that has collected the tests of mutants, and runs those of one in a fork of itself."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import pytest

from tests.mutants.forking import CANNOT_TELL

# A mutant may hang, and how a test fails interests nobody.
# With every guard in place, beside other work and at a low priority, a test that takes a minute may take some.
PATIENT = ("--timeout=900",)
FAIL_QUICKLY = (
    *(
        "-x",
        "--timeout=30",
        "--timeout-method=thread",
    ),  # it ends also a loop that swallows exceptions
    *("--assert=plain", "-p", "tests.mutants.without_shrinking"),
)


class Tester:
    """``with Tester(tree, tests) as tester:``; ``tree`` is a copy of the code that only this tester changes."""

    def __init__(self, tree: Path, tests: Iterable[str]) -> None:
        self.tree = tree
        self._tests = sorted(tests)
        self._passed: dict[tuple[str, ...], bool] = {}

    def __enter__(self) -> Self:
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        command = [sys.executable, "-m", "pytest", *self._tests, *FAIL_QUICKLY]
        command += ["-q", "-p", "no:cacheprovider", "-p", "tests.mutants.forking"]
        pipes = {"MUTANTS_IN": str(requests), "MUTANTS_OUT": str(answers)}
        self._process = subprocess.Popen(
            command,
            cwd=self.tree,
            env={**os.environ, **pipes},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(requests, answers),
        )
        os.close(requests)
        os.close(answers)
        self._lines = os.fdopen(self._answers, encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._requests)
        self._process.wait()
        self._lines.close()

    def passes(self, tests: tuple[str, ...]) -> bool:
        """Whether the tests pass in a fork of unchanged code. Otherwise a failure proves nothing."""
        if tests not in self._passed:
            self._passed[tests] = self.run(tests) == pytest.ExitCode.OK
        return self._passed[tests]

    def run(self, tests: Iterable[str], file: Path | None = None, function: str = "") -> int:
        """The exit code of pytest after ``function`` of ``file`` has got the code that the file has now."""
        request = {"tests": [*tests], "file": str(file or ""), "function": function}
        try:
            os.write(self._requests, f"{json.dumps(request)}\n".encode())
        except BrokenPipeError:
            return CANNOT_TELL
        return int(self._lines.readline() or CANNOT_TELL)
