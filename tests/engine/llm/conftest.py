"""Fixtures: a scripted model server, and the Anthropic adapter for it."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from paca.engine.llm.anthropic.client import AnthropicLLM
from paca.engine.llm.http_pool import TimeLimits, new_pool
from tests.support.model_server import ModelServer

# A busy machine must not decide a test: only the limit that a test is about is short.
PATIENT = TimeLimits(connect=60, first_token=600, gap=600, total=900)
SILENT = {
    "hang": replace(PATIENT, first_token=0.5),  # the server never begins
    "stall": replace(PATIENT, gap=0.5),  # the server begins and then falls silent
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def llm(server: ModelServer) -> AsyncIterator[AnthropicLLM]:
    """The Anthropic adapter with a pool of its own."""
    async with new_pool() as http:
        yield AnthropicLLM("sk-test-key", base_url=server.base_url, limits=PATIENT, http=http)
