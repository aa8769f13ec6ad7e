"""Everything is killed at once and started again: nothing is missing, and what was under way goes on."""

import hashlib
import json

from tests.installation.caller import LOOK, WORK, Caller, assert_is_whole
from tests.installation.manage_process import Installation
from tests.support.flow import wait_until

PATIENCE = 60


def digest(log: list[dict]) -> str:
    return hashlib.sha256(json.dumps(log).encode()).hexdigest()


def test_all_conversations_are_there_with_their_files_and_the_one_under_way_goes_on(
    paca: Installation,
):
    """T-03."""
    running = paca.up()
    caller = Caller(paca, running)
    done = [caller.begin(text).json()["conversation"] for text in (WORK, LOOK)]
    wait_until(lambda: all(map(caller.is_finished, done)), PATIENCE)
    before = {each: digest(caller.log(each)) for each in done}
    under_way = caller.begin(WORK).json()["conversation"]
    wait_until(lambda: caller.has(under_way, "tool.called"), PATIENCE)
    listed = [each["id"] for each in caller.conversations()]
    running.kill()
    caller = Caller(paca, paca.up())
    assert sorted(each["id"] for each in caller.conversations()) == sorted(listed)
    assert {each: digest(caller.log(each)) for each in done} == before
    wait_until(lambda: caller.is_finished(under_way), PATIENCE)
    assert_is_whole(caller.log(under_way))
    caller.write(done[0], LOOK)
    wait_until(lambda: "primes.py" in json.dumps(caller.outputs(done[0])[-3:]), PATIENCE)
