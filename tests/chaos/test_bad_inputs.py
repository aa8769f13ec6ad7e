"""The comparison of R7 notices each difference: a row that cannot fail would prove nothing."""

import pytest

from tests.chaos.bad_inputs import ROWS, BadInput, difference, one_of

SEEN = {"status": 400, "code": "invalid", "reason": "type is missing", "cause": "", "after": None}


@pytest.mark.parametrize(
    "required",
    [
        {"status": 400},
        {"status": one_of(400, 413)},
        {"reason": "missing"},
        {"cause": ""},
        {"after": None},
        SEEN,
    ],
)
def test_bad_input_row_holds_when_the_answer_is_as_expected(required):
    assert difference(BadInput("x", b"", required), SEEN) == ""


@pytest.mark.parametrize(
    "required",
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
def test_bad_input_row_reports_an_unexpected_answer(required):
    message = difference(BadInput("a row", b"", required), SEEN)
    assert message.startswith("a row: saw ")


@pytest.mark.parametrize("sender", ROWS)
def test_bad_input_row_fails_on_an_empty_answer(sender):
    assert [row.name for row in ROWS[sender] if not difference(row, {})] == []


def test_bad_input_rows_are_enough_and_have_unique_names():
    names = [(sender, row.name) for sender, rows in ROWS.items() for row in rows]
    assert len(names) == len(set(names)) >= 60
    assert all(any(row.short for row in rows) for rows in ROWS.values())
