"""Helpers with a real worker and sandbox: in parallel, in one workspace, within one budget, and stopped with their conversation."""

from dataclasses import replace

import pytest

from paca.conversations import services
from paca.conversations.models import Conversation
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]

LONG = 240.0  # seconds, on a machine that does much else


def delegates(*pieces: tuple[str, str]):
    return calls(delegate=[{"helpers": [{"kind": kind, "task": task} for kind, task in pieces]}])


def helpers_of(conversation: ObservedConversation) -> list[ObservedConversation]:
    found = Conversation.objects.filter(parent=conversation.id).order_by("piece")
    return [ObservedConversation(pk) for pk in found.values_list("pk", flat=True)]


def test_helpers_work_side_by_side_in_one_workspace_and_report_in_their_order(tmp_path):
    with Flow(tmp_path, limit_concurrent=4) as flow:
        flow.model.script(
            [
                delegates(
                    ("code", "write-alpha"), ("general", "write-beta"), ("explore", "look-gamma")
                ),
                says("All done."),
            ],
            to="Split the work",
        )
        # Each of the two waits for the file of the other one: they run at the same time, in the same files.
        both = "touch {0}; until [ -e {1} ]; do sleep 0.05; done; echo {0} saw {1}"
        flow.model.script(
            [calls(bash=both.format("alpha", "beta")), says("Alpha.")], to="write-alpha"
        )
        flow.model.script(
            [calls(bash=both.format("beta", "alpha")), says("Beta.")], to="write-beta"
        )
        flow.model.script([calls(bash="touch evil"), says("Gamma.")], to="look-gamma")
        conversation = flow.begin("Split the work")
        flow.wait_until_idle(conversation, LONG)
        assert conversation.status == "finished/answered"
        [report] = conversation.outputs
        assert report.index("Alpha.") < report.index("Beta.") < report.index("Gamma.")
        alpha, beta, gamma = helpers_of(conversation)
        assert "alpha saw beta" in alpha.outputs[0]
        assert "beta saw alpha" in beta.outputs[0]
        assert "read-only" in gamma.outputs[0]
        assert not flow.file_of(conversation, "evil").exists()
        assert flow.file_of(conversation, "alpha").exists()
        for helper in (alpha, beta, gamma):
            assert helper.status == "finished/answered"
            assert_replay_matches(helper)
        assert_replay_matches(conversation)
        assert flow.model.violations == []


def test_helpers_of_an_agent_with_one_place_survive_a_restart(tmp_path):
    with Flow(tmp_path, limit_concurrent=1, worker={"concurrency": 1}) as flow:
        flow.model.script(
            [delegates(("code", "count-one"), ("code", "count-two")), says("Done.")], to="Go"
        )
        for name in ("one", "two"):
            flow.model.script(
                [calls(bash=f"echo {name} >> runs"), says(f"Report {name}.")], to=f"count-{name}"
            )
        conversation = flow.begin("Go")
        wait_until(lambda: len(helpers_of(conversation)) == 2, LONG)
        flow.stop_worker()
        flow.start_worker()
        flow.wait_until_idle(conversation, LONG)
        assert conversation.status == "finished/answered"
        assert "Report one." in conversation.outputs[0]
        assert "Report two." in conversation.outputs[0]
        assert flow.file_of(conversation, "runs").read_text().split() == ["one", "two"]
        assert len(conversation.event_data("subagent.finished")) == 2


def test_stop_reaches_all_helpers(tmp_path):
    with Flow(tmp_path, limit_concurrent=4) as flow:
        flow.model.script([delegates(("code", "sleep-one"), ("code", "sleep-two"))], to="Go")
        for name in ("one", "two"):
            flow.model.script([calls(bash=f"touch began-{name}; sleep 600")], to=f"sleep-{name}")
        conversation = flow.begin("Go")
        wait_until(
            lambda: all(flow.file_of(conversation, f"began-{n}").exists() for n in ("one", "two")),
            LONG,
        )
        flow.stop(conversation)
        flow.wait_until_idle(conversation, LONG)
        assert conversation.status == "stopped/by_person"
        for helper in helpers_of(conversation):
            flow.wait_until_idle(helper, LONG)
            assert helper.status == "stopped/by_person"
        wait_until(lambda: len(conversation.event_data("subagent.finished")) == 2, LONG)
        again = flow.ask("Then", [says("Yes.")], after=conversation)
        assert again.status == "finished/answered"
        assert_replay_matches(conversation)


def test_pause_pauses_the_helpers_and_resume_lets_them_go_on(tmp_path):
    with Flow(tmp_path, limit_concurrent=4) as flow:
        flow.model.script([delegates(("code", "work-one")), says("Done.")], to="Go")
        flow.model.script(
            [calls(bash="touch began; until [ -e go-on ]; do sleep 0.05; done"), says("Report.")],
            to="work-one",
        )
        conversation = flow.begin("Go")
        wait_until(lambda: flow.file_of(conversation, "began").exists(), LONG)
        services.pause(conversation.row, by=flow.world.owner)
        wait_until(
            lambda: conversation.status == "paused/by_person",
            LONG,
            lambda: str(conversation.event_types),
        )
        [helper] = helpers_of(conversation)
        flow.let_command_end(conversation)
        wait_until(lambda: helper.status == "paused/by_person", LONG, lambda: helper.status)
        services.resume(conversation.row, by=flow.world.owner)
        flow.wait_until_idle(conversation, LONG)
        assert conversation.status == "finished/answered"
        assert "Report." in conversation.outputs[0]
        assert_replay_matches(conversation)


def test_helpers_share_what_is_left_of_the_budget(tmp_path):
    """T-69: of a budget of 100,000, 60,000 are spent; three helpers want 50,000 each, and share what is left."""
    settings = {"limit_tokens": 100_000, "parameters": {"max_tokens": 200}}
    with Flow(tmp_path, limit_concurrent=4, **settings) as flow:
        steps = [replace(calls(search_files=f"word{n}"), input_tokens=2_000) for n in range(25)]
        names = ("one", "two", "three")
        work = delegates(*(("explore", f"want-{name}") for name in names))
        flow.model.script([replace(work, input_tokens=60_000)], to="Go")
        for name in names:
            said = [replace(step, parts=(*says(name).parts, *step.parts)) for step in steps]
            flow.model.script(said, to=f"want-{name}")
        conversation = flow.begin("Go")
        flow.wait_until_idle(conversation, LONG)
        helpers = helpers_of(conversation)
        spent = [helper.row.usage["input"] + helper.row.usage["output"] for helper in helpers]
        assert 30_000 < sum(spent) <= 40_000
        ended = conversation.event_data("subagent.finished")
        assert sum(each["usage"]["tokens"] for each in ended) == sum(spent)
        assert {each["reason"] for each in ended} == {"token_budget"}
        frames = [f for f in conversation.frames if f["type"] == "agent.subagent.finished"]
        assert {frame["source"] for frame in frames} == {f"subagent:{each.id}" for each in helpers}
        for name, helper in zip(names, helpers, strict=True):
            [its_end] = [each for each in ended if each["subagent_id"] == str(helper.id)]
            assert name in its_end["summary"]
        # What they took counts for the conversation, which has too little left for its own next call.
        assert conversation.status == "paused/token_budget"
