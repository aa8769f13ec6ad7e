"""A long output of a command: a person downloads all of it, also when the sandbox is gone."""

import pytest

from tests.conversations.chat import download
from tests.support.api import Api
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
WHOLE = "".join(f"{n}\n" for n in range(1, 300_001)).encode()


def test_person_downloads_the_full_output_of_a_command(flow):
    replies = [calls(bash="seq 1 300000"), calls(bash="rm -rf .paca"), says("Counted.")]
    conversation = flow.ask("Count", replies)
    returned = conversation.event_data("tool.returned")[0]
    assert returned["truncated"]
    assert returned["full_output_bytes"] == len(WHOLE)
    path = f"/projects/{flow.world.project.pk}/conversations/{conversation.id}/"
    answer = Api(flow.world.user).get(f"{path}calls/{returned['call_id']}/output/")
    assert download(answer) == WHOLE


def test_output_whose_file_the_command_itself_removed_is_not_kept_and_the_turn_goes_on(flow):
    command = "seq 1 300000; sleep 0.3; rm -rf .paca"
    conversation = flow.ask("Count", [calls(bash=command), says("Counted.")])
    (returned,) = conversation.event_data("tool.returned")
    assert (returned["truncated"], returned["full_output_bytes"]) == (True, 0)
    assert conversation.status == "finished/answered"


def test_short_output_is_not_kept_twice(flow):
    conversation = flow.ask("Hello", [calls(bash="echo hello"), says("Said.")])
    (returned,) = conversation.event_data("tool.returned")
    assert (returned["truncated"], returned["full_output_bytes"]) == (False, 0)
