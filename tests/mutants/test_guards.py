"""The list of guards is true of the code as it is now; taking them out is left to ``make mutants``."""

from pathlib import Path

import pytest

from tests.mutants.guards import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_guard_stands_in_its_file_once_and_its_tests_exist(mutant: Mutant):
    assert (ROOT / mutant.file).read_text(encoding="utf-8").count(mutant.guard) == 1
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8")
