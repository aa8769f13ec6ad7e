"""The official MCP client against a running installation: a task, an agent on it, and its answer."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.installation.api_client import ApiClient
from tests.installation.manage_process import Installation, Running
from tests.support.flow import wait_until
from tests.support.mcp_caller import NEW, OLD, McpCaller
from tests.support.model_script import says
from tests.support.model_server import ModelServer
from tests.support.world import MODEL

pytestmark = pytest.mark.service
SECONDS = 180
SLOW = says("Slow " * 2000).slowly(tps=10)


@pytest.fixture
def address(running_installation: tuple[Installation, Running]) -> tuple[str, str]:
    """The address of the MCP server, and a token."""
    _, running = running_installation
    return f"http://127.0.0.1:{running.port}/mcp/", ApiClient(*running_installation).token


def test_web_server_that_stops_lets_waits_answer(stopped_installation: Installation):
    running = stopped_installation.up()
    client = ApiClient(stopped_installation, running)
    project = client.project.rstrip("/").rpartition("/")[2]
    with ModelServer() as model, ThreadPoolExecutor(2) as threads:
        model.script([SLOW, SLOW])
        agent = client.create_agent("Slow", model=MODEL, base_url=model.base_url, llm_api_key="k-1")
        given = {"project": project, "agent": agent, "instruction": "Hello", "wait_seconds": 50}
        waits = [
            threads.submit(
                McpCaller(running.port, client.token, version).tool, "start_agent", **given
            )
            for version in (OLD, NEW)
        ]
        assert wait_until(lambda: model.in_flight == 2, SECONDS)
        assert running.stop() == 0
        answers = [wait.result() for wait in waits]
    assert [each["is_working"] for each in answers] == [True, True]
    assert "Traceback" not in running.output


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
