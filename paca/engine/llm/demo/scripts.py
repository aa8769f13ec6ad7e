"""The scripted jobs of the demo model: its texts, its tool calls and its reports on their results."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from paca.engine.llm.base import ToolResult

QUOTED_LINES = 14
QUOTED_CHARACTERS = 1200


@dataclass(frozen=True, slots=True)
class ScriptedStep:
    """A text and tool calls. ``accepts`` judges their results; by default none may have failed."""

    text: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    accepts: Callable[[Sequence[ToolResult]], bool] = lambda results: (
        not any(r.failed for r in results)
    )


@dataclass(frozen=True, slots=True)
class DemoJob:
    """A prompt that the demo can carry out. ``report`` makes the answer from the outputs of each step."""

    title: str
    prompt: str
    steps: tuple[ScriptedStep, ...]
    report: Callable[[Sequence[Sequence[str]]], str]

    def followed_by(self, other: Self) -> Self:
        """Both jobs, one after the other, with one answer."""
        count = len(self.steps)
        return replace(
            self,
            steps=(*self.steps, *other.steps),
            report=lambda outputs: (
                f"{self.report(outputs[:count])}\n\n{other.report(outputs[count:])}"
            ),
        )


def quote(output: str) -> str:
    """The output as a code block. The middle of a long output is left out."""
    lines = output.strip()[:QUOTED_CHARACTERS].replace("```", "'''").splitlines()
    if len(lines) > QUOTED_LINES:
        lines = [*lines[: QUOTED_LINES - 4], "...", *lines[-3:]]
    return "```text\n" + ("\n".join(lines) or "(no output)") + "\n```"


def to_plain(text: str) -> str:
    """The words of the text in small letters, without punctuation."""
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


# --- look around --------------------------------------------------------------------------------

LOOK = (
    'echo "system:  $(uname -sr)"; '
    'echo "user:    $(id -un 2>/dev/null || id -u)"; '
    'echo "folder:  $(pwd)"; '
    'echo "python:  $(python3 --version 2>&1)"; '
    "echo \"network: $(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | tr '\\n' ' ')\""
)


def _look_report(outputs: Sequence[Sequence[str]]) -> str:
    networks = re.search(r"^network:(.*)$", outputs[0][0], re.M)
    alone = networks is not None and networks[1].split() == ["lo"]
    network = " `lo` as the only network means: there is no way out of it." if alone else ""
    return (
        "This is where I work. The commands ran just now, in the sandbox of this conversation:\n\n"
        f"{quote(outputs[0][0])}\n\n"
        "and the workspace, the one folder that is kept between your messages, holds:\n\n"
        f"{quote(outputs[0][1])}\n\n"
        f"What I write or break stays inside the sandbox.{network}"
    )


LOOK_AROUND = DemoJob(
    title="Look around the sandbox",
    prompt="Look around the sandbox and tell me what is there.",
    steps=(
        ScriptedStep(
            "I look at the system and at the workspace, both at once.",
            (("bash", {"command": LOOK}), ("list_directory", {"path": "."})),
        ),
    ),
    report=_look_report,
)

# --- a small program ----------------------------------------------------------------------------

PRIMES = '''"""Prints the primes below a limit, found with the sieve of Eratosthenes."""

import sys


def primes_below(limit):
    candidates = [True] * limit
    for number in range(2, limit):
        if candidates[number]:
            yield number
            for multiple in range(number * number, limit, number):
                candidates[multiple] = False


if __name__ == "__main__":
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    found = list(primes_below(limit))
    print(f"{len(found)} primes below {limit}, the last of them:")
    print(*found[-10:])
'''


def _program_report(outputs: Sequence[Sequence[str]]) -> str:
    return (
        f"I wrote `primes.py` ({len(PRIMES.splitlines())} lines) and ran it twice. "
        "Its first run printed:\n\n"
        f"{quote(outputs[1][0])}\n\n"
        "and with a limit of 1,000,000, counted and timed:\n\n"
        f"{quote(outputs[2][0])}\n\n"
        "The file stays in the workspace; ask me to look around to see it there."
    )


SMALL_PROGRAM = DemoJob(
    title="Write and run a small program",
    prompt="Write a small program that finds prime numbers, and run it.",
    steps=(
        ScriptedStep(
            "I write the program to `primes.py`.",
            (("write_file", {"path": "primes.py", "content": PRIMES}),),
        ),
        ScriptedStep("Now I run it.", (("bash", {"command": "python3 primes.py"}),)),
        ScriptedStep(
            "It works. Once more with a larger limit, to see how long it takes.",
            (("bash", {"command": "time -p python3 primes.py 1000000"}),),
        ),
    ),
    report=_program_report,
)

# --- find and fix a bug -------------------------------------------------------------------------

BUGGY_LINE = "    return sum(prices) * (1 - percent)"
FIXED_LINE = "    return sum(prices) * (1 - percent / 100)"
CART = f'''"""The price of a shopping cart."""


def total(prices, percent=0):
    """The sum of the prices, less a discount of ``percent`` per cent."""
{BUGGY_LINE}
'''
CART_TEST = """import unittest

from cart import total


class CartTest(unittest.TestCase):
    def test_without_discount(self):
        self.assertEqual(total([10, 20]), 30)

    def test_a_tenth_off(self):
        self.assertEqual(total([10, 20], percent=10), 27)


if __name__ == "__main__":
    unittest.main()
"""
RUN_TESTS = (("bash", {"command": "python3 test_cart.py 2>&1"}),)


def _tests_failed(results: Sequence[ToolResult]) -> bool:
    """This step expects the test to fail, so its exit code is not 0."""
    return "AssertionError" in results[0].output


def _bug_report(outputs: Sequence[Sequence[str]]) -> str:
    return (
        "The bug is found and fixed. Before, the test for the discount failed:\n\n"
        f"{quote(outputs[1][0])}\n\n"
        "`cart.py` took the discount of 10 per cent as a factor of 10. The one line I changed:\n\n"
        f"```diff\n-{BUGGY_LINE}\n+{FIXED_LINE}\n```\n\n"
        "After it the same tests say:\n\n"
        f"{quote(outputs[4][0])}"
    )


FIX_A_BUG = DemoJob(
    title="Find and fix a bug",
    prompt="Set up a small program with a bug, find the bug with a test, and fix it.",
    steps=(
        ScriptedStep(
            "I set up a small shopping cart and a test for it.",
            (
                ("write_file", {"path": "cart.py", "content": CART}),
                ("write_file", {"path": "test_cart.py", "content": CART_TEST}),
            ),
        ),
        ScriptedStep("Now I run the test.", RUN_TESTS, accepts=_tests_failed),
        ScriptedStep(
            "The discount comes out wrong. I read the function.",
            (("read_file", {"path": "cart.py"}),),
        ),
        ScriptedStep(
            "The discount is given in per cent, but the code takes it as a factor. I change that line.",
            (("edit_file", {"path": "cart.py", "old": BUGGY_LINE, "new": FIXED_LINE}),),
        ),
        ScriptedStep("I run the test again.", RUN_TESTS),
    ),
    report=_bug_report,
)

JOBS = (LOOK_AROUND, SMALL_PROGRAM, FIX_A_BUG)
