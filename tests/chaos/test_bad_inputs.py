"""The judge of R7 sees what is not as its row says: a table that nothing can fail would prove nothing."""

import pytest

from tests.chaos.bad_inputs import DOORS, Row, differs, one_of

SEEN = {"status": 400, "code": "invalid", "reason": "type is missing", "cause": "", "after": None}


@pytest.mark.parametrize(
    "must",
    [
        {"status": 400},
        {"status": one_of(400, 413)},
        {"reason": "missing"},
        {"cause": ""},
        {"after": None},
        SEEN,
    ],
)
def test_bad_input_row_holds_when_the_answer_is_as_expected(must):
    assert differs(Row("x", b"", must), SEEN) == ""


@pytest.mark.parametrize(
    "must",
    [
        {"status": 500},
        {"status": one_of(413, 500)},
        {"reason": "another"},
        {"reason": ""},
        {"cause": "timed_out"},
        {"after": "whole"},
        {"unheard_of": 1},
        {"status": "400"},
        {**SEEN, "code": "malformed"},
    ],
)
def test_bad_input_row_reports_an_unexpected_answer(must):
    told = differs(Row("a row", b"", must), SEEN)
    assert told.startswith("a row: saw ")


@pytest.mark.parametrize("door", DOORS)
def test_bad_input_row_fails_on_an_empty_answer(door):
    assert [row.name for row in DOORS[door] if not differs(row, {})] == []


def test_bad_input_rows_are_enough_and_have_unique_names():
    names = [(door, row.name) for door, rows in DOORS.items() for row in rows]
    assert len(names) == len(set(names)) >= 60
    assert all(any(row.short for row in rows) for rows in DOORS.values())
