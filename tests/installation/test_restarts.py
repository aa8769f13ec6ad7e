"""All processes are killed at once and started again: nothing is lost, and a run goes on."""

import hashlib
import json

from tests.installation.api_client import LOOK, WORK, ApiClient, assert_is_whole
from tests.installation.manage_process import Installation
from tests.support.flow import wait_until

PATIENCE = 60


def digest(log: list[dict]) -> str:
    return hashlib.sha256(json.dumps(log).encode()).hexdigest()


def test_restart_keeps_conversations_and_files_and_continues_a_run(
    stopped_installation: Installation,
):
    """T-03."""
    running = stopped_installation.up()
    client = ApiClient(stopped_installation, running)
    done = [client.begin(text).json()["conversation"] for text in (WORK, LOOK)]
    wait_until(lambda: all(map(client.is_finished, done)), PATIENCE)
    before = {each: digest(client.log(each)) for each in done}
    under_way = client.begin(WORK).json()["conversation"]
    wait_until(lambda: client.has(under_way, "tool.called"), PATIENCE)
    listed = [each["id"] for each in client.conversations()]
    running.kill()
    client = ApiClient(stopped_installation, stopped_installation.up())
    assert sorted(each["id"] for each in client.conversations()) == sorted(listed)
    assert {each: digest(client.log(each)) for each in done} == before
    wait_until(lambda: client.is_finished(under_way), PATIENCE)
    assert_is_whole(client.log(under_way))
    client.write(done[0], LOOK)
    wait_until(lambda: "primes.py" in json.dumps(client.outputs(done[0])[-3:]), PATIENCE)
