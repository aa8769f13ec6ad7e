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
def test_what_is_as_the_row_says_holds(must):
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
def test_what_is_otherwise_is_told_with_what_was_seen(must):
    told = differs(Row("a row", b"", must), SEEN)
    assert told.startswith("a row: saw ")


@pytest.mark.parametrize("door", DOORS)
def test_each_row_must_be_told_apart_from_nothing_at_all(door):
    assert [row.name for row in DOORS[door] if not differs(row, {})] == []


def test_there_are_enough_of_them_and_each_has_a_name_of_its_own():
    names = [(door, row.name) for door, rows in DOORS.items() for row in rows]
    assert len(names) == len(set(names)) >= 60
    assert all(any(row.short for row in rows) for rows in DOORS.values())
