"""The ways in which a mutant changes a marked statement, and how the marker of a guard is found.

Changes work on the syntax tree, so that a renamed variable or a reformatted line does not break them.
"""

import ast
import copy
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

MARKER = re.compile(r"^\s*# guard: ([a-z0-9-]+)$")

# From a marked statement: the node whose source text is replaced, and the text that replaces it.
Change = Callable[[ast.stmt], tuple[ast.AST, str]]


def removed(statement: ast.stmt) -> tuple[ast.AST, str]:
    """The statement does nothing."""
    return statement, "pass"


def never(statement: ast.stmt) -> tuple[ast.AST, str]:
    """The condition of the ``if`` does not hold."""
    return _condition(statement), "False"


def always(statement: ast.stmt) -> tuple[ast.AST, str]:
    """The condition of the ``if`` holds."""
    return _condition(statement), "True"


def last_operand_dropped(statement: ast.stmt) -> tuple[ast.AST, str]:
    """The condition ``a or b`` of the ``if`` becomes ``a``."""
    condition = _condition(statement)
    assert isinstance(condition, ast.BoolOp)
    shorter = copy.deepcopy(condition)
    shorter.values.pop()
    return condition, f"({ast.unparse(shorter)})"


def last_context_dropped(statement: ast.stmt) -> tuple[ast.AST, str]:
    """``with a, b:`` becomes ``with a:``."""
    assert isinstance(statement, ast.With)
    assert len(statement.items) > 1
    shorter = copy.deepcopy(statement)
    shorter.items.pop()
    return statement, ast.unparse(shorter)


def without_keyword(name: str) -> Change:
    """The only call in the statement that has this keyword argument is made without it."""

    def change(statement: ast.stmt) -> tuple[ast.AST, str]:
        (call,) = (
            node
            for node in ast.walk(statement)
            if isinstance(node, ast.Call) and any(each.arg == name for each in node.keywords)
        )
        shorter = copy.deepcopy(call)
        shorter.keywords = [each for each in shorter.keywords if each.arg != name]
        return call, ast.unparse(shorter)

    return change


def filter_dropped(statement: ast.stmt) -> tuple[ast.AST, str]:
    """The only generator in the statement that has an ``if`` yields its other items too."""
    (generator,) = (
        node
        for node in ast.walk(statement)
        if isinstance(node, ast.GeneratorExp) and node.generators[0].ifs
    )
    longer = copy.deepcopy(generator)
    longer.generators[0].ifs.clear()
    return generator, ast.unparse(longer)


def value(expression: str) -> Change:
    """The statement returns or assigns this expression. It may only use names of the module."""

    def change(statement: ast.stmt) -> tuple[ast.AST, str]:
        assert isinstance(statement, ast.Return | ast.Assign | ast.AnnAssign)
        assert statement.value is not None
        return statement.value, f"({expression})"

    return change


def _condition(statement: ast.stmt) -> ast.expr:
    assert isinstance(statement, ast.If), "the marker stands above an if or elif"
    return statement.test


def markers(root: Path) -> list[tuple[str, Path]]:
    """Every marker of a guard below ``root/paca``, with its file."""
    return [
        (marker[1], file)
        for file in sorted(root.glob("paca/**/*.py"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if (marker := MARKER.match(line))
    ]


def changed(source: str, guard: str, change: Change) -> str:
    """The source text of a module after the change to the statement below the marker ``guard``."""
    statement = _marked(source, guard)
    node, text = change(statement)
    lines = source.encode().splitlines(keepends=True)
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    indented = textwrap.indent(text, " " * node.col_offset).lstrip()
    return (before + indented.encode() + after).decode()


def function_of(source: str, guard: str) -> str:
    """The qualified name of the outermost function around the marked statement; empty outside of functions."""
    marked, name = _marked(source, guard).lineno, ""
    scope: ast.AST = ast.parse(source)
    while True:
        inner = [
            node
            for node in ast.iter_child_nodes(scope)
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.lineno <= marked <= (node.end_lineno or 0)
        ]
        if not inner:
            return ""
        [scope] = inner
        name = f"{name}.{scope.name}" if name else scope.name
        if not isinstance(scope, ast.ClassDef):
            return name


def _marked(source: str, guard: str) -> ast.stmt:
    """The first statement that begins below the marker; comments may stand between them."""
    (line,) = (
        number
        for number, text in enumerate(source.splitlines(), 1)
        if (marker := MARKER.match(text)) and marker[1] == guard
    )
    below = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and node.lineno > line
    ]
    return min(below, key=lambda node: (node.lineno, node.col_offset))
