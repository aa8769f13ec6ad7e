"""Tests wait for facts: no fixed sleep proves that nothing happened, and no bound in seconds depends on the load.

``tests/support/promises.py`` checks the bounds that Paca promises.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MEASURED = ("tests/bench/", "tests/chaos/", "tests/localmodel/")
SHORTEST_SECONDS = 0.2
CLOCKS = {"monotonic", "perf_counter", "time"}
SLEEPERS = {"time", "asyncio", "anyio"}
UPPER = (ast.Lt, ast.LtE)

# module: why a fact cannot replace its sleep
MAY_SLEEP: dict[str, str] = {
    "tests/support/model_server.py": "a program for developers, which sleeps until Ctrl-C",
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(MEASURED):
            yield name, ast.parse(path.read_text(encoding="utf-8"), filename=name)


def number(node: ast.expr, constants: dict[str, float]) -> float | None:
    """The value of a number or of a constant of the module; None for any other expression."""
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    return None


def constants_of(tree: ast.Module) -> dict[str, float]:
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = number(node.value, found)
            if value is not None:
                found[node.targets[0].id] = value
    return found


def seconds_of(node: ast.Call, constants: dict[str, float]) -> float:
    """How long the call sleeps, as far as that is fixed; 0 for any other call."""
    length = (number(node.args[0], constants) or 0.0) if node.args else 0.0
    match node.func:
        case ast.Attribute(attr="wait_for_timeout"):  # of a page in a browser, in milliseconds
            return length / 1000
        case ast.Attribute(attr="sleep", value=ast.Name(id=owner)) if owner in SLEEPERS:
            return length
        case ast.Name(id="sleep"):
            return length
    return 0.0


def fixed_sleeps(tree: ast.Module) -> Iterator[int]:
    """The lines of the sleeps of a fixed length that is not short."""
    constants = constants_of(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and seconds_of(node, constants) >= SHORTEST_SECONDS:
            yield node.lineno


def is_clock_difference(node: ast.expr) -> bool:
    """Whether the expression is ``time.monotonic() - began`` or the like."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)):
        return False
    called = node.left.func if isinstance(node.left, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr in CLOCKS


def durations_of(function: ast.AST) -> set[str]:
    """The names that the function gives to durations it has measured."""
    return {
        node.targets[0].id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and is_clock_difference(node.value)
    }


def is_duration(node: ast.expr, durations: set[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "seconds"
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "seconds"
    named = isinstance(node, ast.Name) and node.id in durations
    return named or is_clock_difference(node)


def bounds(tree: ast.Module) -> Iterator[int]:
    """The lines that assert that a measured duration is below a number."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        durations = durations_of(function)
        for compared in (
            node
            for asserted in ast.walk(function)
            if isinstance(asserted, ast.Assert)
            for node in ast.walk(asserted.test)
            if isinstance(node, ast.Compare)
        ):
            terms = [compared.left, *compared.comparators]
            for term, operator, limit in zip(terms, compared.ops, terms[1:], strict=False):
                is_number = isinstance(limit, ast.Constant)
                if isinstance(operator, UPPER) and is_number and is_duration(term, durations):
                    yield compared.lineno


def test_tests_outside_the_list_have_no_fixed_sleep():
    found = [
        f"{name}:{line}"
        for name, tree in modules()
        if name not in MAY_SLEEP
        for line in fixed_sleeps(tree)
    ]
    assert not found, f"wait for a fact (tests/support/waiting.py, wait_until) instead: {found}"


def test_tests_on_the_list_still_need_their_entry():
    sleeping = {name for name, tree in modules() if any(fixed_sleeps(tree))}
    assert MAY_SLEEP.keys() <= sleeping, "take it off the list"


def test_tests_assert_no_upper_bound_in_seconds():
    found = [f"{name}:{line}" for name, tree in modules() for line in bounds(tree)]
    assert not found, f"wait for a fact, or use tests/support/promises.py, instead: {found}"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("time.sleep(0.2)", [1]),
        ("async def f():\n    await asyncio.sleep(3)", [2]),
        ("PAUSE = 1.5\ntime.sleep(PAUSE)", [2]),
        ("time.sleep(0.01)", []),
        ("bash('import time; time.sleep(5)')", []),
        ("clock.sleep(5)", []),
        ("page.wait_for_timeout(1500)", [1]),
        ("page.wait_for_timeout(60)", []),
    ],
)
def test_rule_finds_fixed_sleeps(source: str, lines: list[int]):
    assert list(fixed_sleeps(ast.parse(source))) == lines


@pytest.mark.parametrize(
    ("assertion", "broken"),
    [
        ("time.monotonic() - began < 5", True),
        ("took < 5", True),
        ("0 < outcome.seconds < 10", True),
        ("bomb['seconds'] <= 15", True),
        ("time.monotonic() < deadline", False),
        ("took >= 2", False),
        ("spent < 0.5 * took + 0.6", False),
        ("outcome.seconds <= took", False),
    ],
)
def test_rule_finds_upper_bounds_in_seconds(assertion: str, broken: bool):
    source = f"def test():\n    took = time.monotonic() - began\n    assert {assertion}"
    assert bool(list(bounds(ast.parse(source)))) is broken
