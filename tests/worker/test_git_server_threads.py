"""Threads that wait for git servers: a project whose servers hang holds up neither others nor other work."""

import asyncio
import threading
import uuid
from collections.abc import Iterator

import pytest

from paca.worker import git_server_threads
from paca.worker.git_server_threads import OF_ONE_PROJECT

HANGING, OTHER = uuid.uuid4(), uuid.uuid4()


class HangingServer:
    """Answers nobody before ``answers`` is set. ``asked`` counts the requests that have reached it."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.asked = threading.Semaphore(0)

    def ask(self) -> str:
        self.asked.release()
        self.answers.wait()
        return "late"

    async def wait_until_asked(self, times: int) -> None:
        for _ in range(times):
            assert await asyncio.to_thread(self.asked.acquire, timeout=30)


@pytest.fixture
def server() -> Iterator[HangingServer]:
    found = HangingServer()
    yield found
    found.answers.set()


@pytest.mark.anyio
async def test_hanging_server_of_one_project_leaves_threads_to_others(server: HangingServer):
    wanted = 3 * git_server_threads.THREADS
    asking = [
        asyncio.create_task(git_server_threads.call(HANGING, server.ask)) for _ in range(wanted)
    ]
    await server.wait_until_asked(OF_ONE_PROJECT)
    assert await git_server_threads.call(OTHER, str.upper, "quick") == "QUICK"
    assert await asyncio.to_thread(str.upper, "quick") == "QUICK"
    assert not server.asked.acquire(blocking=False), "the others of this project wait"
    server.answers.set()
    assert await asyncio.gather(*asking) == ["late"] * wanted


@pytest.mark.anyio
async def test_cancelled_callers_do_not_wait_and_their_threads_keep_their_places(
    server: HangingServer,
):
    asking = [
        asyncio.create_task(git_server_threads.call(HANGING, server.ask))
        for _ in range(OF_ONE_PROJECT)
    ]
    await server.wait_until_asked(OF_ONE_PROJECT)
    for task in asking:
        task.cancel()
    ends = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(end, asyncio.CancelledError) for end in ends)
    following = asyncio.create_task(git_server_threads.call(HANGING, str.upper, "next"))
    assert await git_server_threads.call(OTHER, str.upper, "quick") == "QUICK"
    assert not following.done()
    server.answers.set()
    assert await following == "NEXT"


@pytest.mark.anyio
async def test_errors_reach_the_caller_and_give_the_place_back():
    for _ in range(2 * OF_ONE_PROJECT):
        with pytest.raises(ValueError, match="invalid literal"):
            await git_server_threads.call(OTHER, int, "none")
