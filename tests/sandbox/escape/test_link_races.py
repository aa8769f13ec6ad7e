"""Links that are changed while the host reads: a file of the workspace is read, or none."""

import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from paca.engine.workspace import WorkspaceError
from tests.sandbox.conftest import SandboxHandle

pytestmark = [pytest.mark.service, pytest.mark.anyio]
ROUNDS = 120
# The name ``spot`` is a folder of the workspace, or a link to /etc, and changes without a pause.
FLIP = """
import os, time
os.makedirs("folder", exist_ok=True)
open("folder/passwd", "w").write("mine")
end = time.monotonic() + 30
while time.monotonic() < end and not os.path.exists("stop"):
    for target in ("folder", "/etc"):
        os.symlink(target, "next")
        os.rename("next", "spot")
"""


async def test_reads_and_writes_of_the_host_follow_no_link_that_is_changed_meanwhile(
    handle: SandboxHandle,
) -> None:
    await handle.write("flip.py", FLIP)
    flipping = await handle.begin("python3 flip.py", seconds=60)
    seen: set[str] = set()
    for number in range(ROUNDS):
        with suppress(WorkspaceError):
            seen.add((await handle.sandbox.read("spot/passwd")).decode(errors="replace")[:40])
        with suppress(WorkspaceError):
            await handle.sandbox.write(f"race-{number}", "spot/made", b"x")
    await handle.write("stop", "")
    await flipping
    assert {each for each in seen if "root:" in each} == set()
    assert (await handle.bash("ls /etc/made 2>/dev/null")).output == ""


@contextmanager
def flipping_on_the_host(folder: Path) -> Any:
    (folder / "folder").mkdir()
    (folder / "folder" / "passwd").write_text("mine")
    ends = threading.Event()

    def flip() -> None:
        while not ends.is_set():
            for target in ("folder", "/etc"):
                (folder / "next").symlink_to(target)
                (folder / "next").rename(folder / "spot")

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()


def test_careless_reader_is_caught(tmp_path: Path) -> None:
    """It looks first and reads then, as a host without ``openat2`` or a runner inside would."""
    with flipping_on_the_host(tmp_path):
        for _ in range(20_000):
            path = tmp_path / "spot" / "passwd"
            with suppress(OSError):
                if path.resolve().is_relative_to(tmp_path) and "root:" in path.read_text():
                    return
    pytest.fail("the race was never lost, so the other test proves nothing")
