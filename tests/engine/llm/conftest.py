"""Fixtures: a scripted model server, and the Anthropic adapter for it."""

import importlib
from collections.abc import AsyncIterator, Iterator

import pytest

from paca.engine.llm.anthropic.client import AnthropicLLM
from paca.engine.llm.http_pool import TimeLimits, new_pool
from tests.support.model_server import ModelServer

SHORT = TimeLimits(connect=5, first_token=1.5, gap=1.0, total=10)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def llm(server: ModelServer) -> AsyncIterator[AnthropicLLM]:
    """The Anthropic adapter with short time limits and a pool of its own."""
    importlib.import_module("anthropic")  # else its loading is what the limits of a test measure
    async with new_pool() as http:
        yield AnthropicLLM("sk-test-key", base_url=server.base_url, limits=SHORT, http=http)
