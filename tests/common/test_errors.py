"""Errors carry words from outside, and become rows."""

import pytest

from paca.common.errors import Invalid, PacaError
from paca.engine.llm.model_errors import RequestRefused


@pytest.mark.parametrize("error", [PacaError, Invalid, RequestRefused])
def test_words_of_an_error_are_storable_on_every_database(error):
    assert error("near '\ud83d' and \0").detail == "near '?' and \u2400"
