"""The environment of an agent in a whole journey: its variables and what was set up reach its commands, and nobody else."""

import pytest

from paca.agents import services as agents
from paca.agents.services import variables
from paca.conversations.models import Event, SandboxSetup
from tests.support.flow import Flow, assert_replay_matches
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
SECRET = "tok-3f9a77d2"
SETUP = (
    "mkdir bin && printf '#!/bin/sh\\necho tool has [$TOKEN]\\n' > bin/tool && chmod +x bin/tool"
)


def test_commands_have_variables_and_what_was_set_up_and_no_secret_is_told(flow: Flow) -> None:
    agent, by = flow.world.agent, flow.world.owner
    agents.configure(agent, by=by, setup_commands=f"{SETUP}; echo set up without [$TOKEN]")
    variables.store(agent, name="TOKEN", value=SECRET, by=by)
    uses = calls(bash="tool; [ $TOKEN = tok-3f9a''77d2 ] && echo it is the right one")
    conversation = flow.ask("Use it", [uses, says("Used.")])

    [output] = conversation.outputs
    assert output.splitlines()[:2] == ["tool has [***]", "it is the right one"]
    [row] = SandboxSetup.objects.all()
    assert (row.state, row.output) == ("ready", "set up without []\n")
    [started] = conversation.event_data("sandbox.started")
    assert "setup" in started["phases"]
    first = flow.model.requests[0].body
    assert "TOKEN" in str(first["system"])
    told = [str(request.body) for request in flow.model.requests]
    assert SECRET not in str(told) + str(list(Event.objects.values_list("payload", flat=True)))
    assert_replay_matches(conversation)

    another = flow.ask("And again", [calls(bash="tool"), says("Done.")])
    assert another.outputs == ["tool has [***]\n"] or another.outputs[0].startswith("tool has")
    assert SandboxSetup.objects.count() == 1


def test_a_setup_that_fails_ends_the_conversation_with_its_last_lines(flow: Flow) -> None:
    agents.configure(
        flow.world.agent, by=flow.world.owner, setup_commands="echo no such package; exit 7"
    )
    conversation = flow.ask("Use it", [calls(bash="true"), says("Never.")])
    assert conversation.status == "failed/sandbox_error"
    assert "exit code 7" in conversation.row.detail
    assert "no such package" in conversation.row.detail
