"""The official MCP client against a running installation: a task, an agent on it, and its answer."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.installation.api_client import ApiClient
from tests.installation.manage_process import Installation, Running

pytestmark = pytest.mark.service
SECONDS = 180


@pytest.fixture
def address(running_installation: tuple[Installation, Running]) -> tuple[str, str]:
    """The address of the MCP server, and a token."""
    _, running = running_installation
    return f"http://127.0.0.1:{running.port}/mcp/", ApiClient(*running_installation).token


async def journey(url: str, token: str, mode: Any) -> tuple[str, list[str | None]]:
    """Make a task, start the demo agent on it and wait; gives the answer and the told progress."""
    told: list[str | None] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=SECONDS)
    async with http, Client(streamable_http_client(url, http_client=http), mode=mode) as client:

        async def call(name: str, **arguments: Any) -> Any:
            result = await client.call_tool(name, arguments, progress_callback=tell)
            assert not result.is_error, result
            return json.loads(result.content[0].text)

        assert len((await client.list_tools()).tools) == 19
        project = (await call("list_projects"))[0]["id"]
        agent = (await call("list_agents", project=project))["results"][0]["id"]
        task = await call(
            "create_task", project=project, title="Write a program that finds prime numbers"
        )
        found = await call(
            "start_agent",
            project=project,
            agent=agent,
            task=task["number"],
            wait_seconds=10,
            idempotency_key=f"primes-{mode}",
        )
        conversation = found["conversation"]["id"]
        while found["is_working"]:
            found = await call("wait_for_agent", project=project, conversation=conversation)
        shown = await call("get_conversation", project=project, conversation=conversation)
        assert shown["answer"] == found["answer"]
        return found["answer"], told


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_client_starts_an_agent_on_a_task_and_reads_its_answer(address, mode):
    async def bounded() -> tuple[str, list[str | None]]:
        async with asyncio.timeout(SECONDS):
            return await journey(*address, mode)

    answer, told = asyncio.run(bounded())
    assert answer
    assert told
