"""The list of guards agrees with the code; ``make mutants`` takes them out."""

import ast
import builtins
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.mutants.changes import changed, markers
from tests.mutants.guards import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def files() -> dict[str, Path]:
    return dict(markers(ROOT))


@cache
def text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def product() -> str:
    return "".join(map(text, ROOT.glob("paca/**/*.py")))


@cache
def tree(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def identifiers(source: str) -> set[str]:
    """Every name and attribute of a module."""
    return {
        getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "arg", "")
        for node in ast.walk(tree(source))
        if isinstance(node, ast.Name | ast.Attribute | ast.arg)
    }


def test_markers_stand_once_each_and_each_has_its_mutant():
    assert Counter(guard for guard, _ in markers(ROOT)) == Counter(m.guard for m in MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.guard)
def test_mutant_changes_the_code_and_uses_only_names_that_exist(mutant: Mutant):
    """A name that does not exist would fail any test: the mutant would be killed for nothing."""
    source = text(files()[mutant.guard])
    mutated = changed(source, mutant.guard, mutant.change)
    assert ast.dump(tree(mutated)) != ast.dump(tree(source))
    invented = identifiers(mutated) - identifiers(source) - set(dir(builtins))
    assert [name for name in invented if name not in product() and name != "startswith"] == []


def test_tests_of_mutants_exist():
    missing = []
    for mutant in MUTANTS:
        for test in mutant.tests:
            file, _, name = test.partition("::")
            if not (ROOT / file).exists() or (name and f"def {name}(" not in text(ROOT / file)):
                missing.append(f"{mutant.guard}: {test}")
    assert missing == []
