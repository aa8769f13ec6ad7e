"""A wall clock that is set during a run changes no wait: waits use the monotonic clock."""

from pathlib import Path

import pytest

from tests.installation.api_client import WORK, ApiClient, assert_is_whole
from tests.installation.manage_process import Installation
from tests.support.flow import wait_until

pytestmark = pytest.mark.service

LIBRARY = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")  # Debian: faketime
PATIENCE = 60


@pytest.mark.skipif(not LIBRARY.exists(), reason="needs faketime")
@pytest.mark.parametrize("jump", ["+1h", "-1h"])
def test_run_goes_on_when_the_clock_is_set(
    stopped_installation: Installation, tmp_path: Path, jump: str
):
    clock = tmp_path / "clock"
    clock.write_text("+0\n")
    running = stopped_installation.up(
        LD_PRELOAD=str(LIBRARY),
        FAKETIME_TIMESTAMP_FILE=str(clock),
        FAKETIME_CACHE_DURATION="1",
        FAKETIME_DONT_FAKE_MONOTONIC="1",
        WORKER_LEASE_SECONDS="3",
    )
    client = ApiClient(stopped_installation, running)
    conversation = client.begin(WORK).json()["conversation"]
    wait_until(lambda: client.has(conversation, "tool.called"), PATIENCE)
    clock.write_text(f"{jump}\n")
    wait_until(lambda: client.is_finished(conversation), PATIENCE)
    assert_is_whole(client.log(conversation))
    again = client.begin("Hello").json()["conversation"]
    wait_until(lambda: client.is_finished(again), PATIENCE)
    first, last = client.log(conversation)[0]["at"], client.log(again)[-1]["at"]
    assert (first < last) == (jump == "+1h"), "the clock was not set"
    assert running.get("/readyz").status == 200
