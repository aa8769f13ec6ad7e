"""The runner as a process of the host, its record, and the lock of its folder."""

import asyncio
import os
from pathlib import Path

import pytest

from paca.sandbox.bubblewrap import host_process
from paca.sandbox.bubblewrap.file_tree import remove_tree
from paca.sandbox.bubblewrap.host_process import RunnerProcess
from paca.sandbox.runner import proc
from tests.support.waiting import until


def test_a_runner_is_distinguished_from_a_later_process_with_its_pid():
    started = proc.start_time(os.getpid())
    assert RunnerProcess(os.getpid(), started).is_alive
    assert not RunnerProcess(os.getpid(), started - 1).is_alive
    assert not RunnerProcess().is_alive


def test_a_zombie_is_not_alive():
    pid = os.posix_spawn("/bin/true", ["true"], {})
    while proc.start_time(pid) is not None:
        pass
    assert os.waitpid(pid, 0)[0] == pid


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1, "unknown": 2}', "\0"])
def test_a_damaged_record_is_read_as_no_runner(tmp_path, text):
    (tmp_path / "life.json").write_text(text)
    assert host_process.read_record(tmp_path) == RunnerProcess()


def test_a_record_is_read_as_it_was_written(tmp_path):
    host_process.write_record(tmp_path, RunnerProcess(7, 8, 9))
    assert host_process.read_record(tmp_path) == RunnerProcess(7, 8, 9)


def test_a_record_of_an_older_version_is_read(tmp_path):
    """A sandbox outlives an upgrade of Paca, so the file and its keys never change."""
    (tmp_path / "life.json").write_text('{"pid":7,"started":8,"epoch":9,"kills":1}')
    assert host_process.read_record(tmp_path) == RunnerProcess(7, 8, 9, oom_kills=1)


def test_a_directory_lock_that_was_removed_during_the_wait_is_not_acquired(tmp_path, monkeypatch):
    """Otherwise the waiting worker would remove the files of a sandbox that is started under the new lock."""
    folder, entered, attempts = tmp_path / "sandbox", asyncio.Event(), []
    try_lock = host_process._try_lock

    def count_and_try(folder: Path) -> int | None:
        attempts.append(folder)
        return try_lock(folder)

    monkeypatch.setattr(host_process, "_try_lock", count_and_try)

    async def more_attempts(number: int) -> None:
        """Wait until the waiting worker has tried the lock so often again."""
        before = len(attempts)
        await until(lambda: len(attempts) >= before + number)

    async def enter() -> None:
        async with host_process.directory_lock(folder):
            entered.set()

    async def race() -> None:
        async with host_process.directory_lock(folder):
            waiting = asyncio.create_task(enter())
            await more_attempts(1)
            remove_tree(folder)
        async with host_process.directory_lock(folder):
            await more_attempts(3)
            assert not entered.is_set()
        async with asyncio.timeout(60):
            await waiting

    asyncio.run(race())
    assert entered.is_set()
