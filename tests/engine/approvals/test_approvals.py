"""Calls that wait for a person: asked once, run exactly as approved, and never without a yes."""

import pytest

from paca import events
from paca.engine.approvals.decisions import Decisions
from paca.engine.approvals.policy import judge
from paca.engine.limits import TurnLimits
from paca.engine.tools.base import Effect, Tool, ToolArguments, ToolContext, ToolOutput
from paca.engine.tools.registry import Toolbox, workspace_tools
from tests.engine.world import World
from tests.support.fake_sandbox_workspace import RunningCommand
from tests.support.model_script import calls, says

pytestmark = pytest.mark.anyio

DELETE = {"rm a.txt": "", "rm b.txt": "", "ls": "a.txt"}


def a_world(*replies, approval="unsafe", **options):
    return World(*replies, approval=approval, commands=dict(DELETE), **options)


async def test_unsafe_command_waits_and_runs_exactly_once_after_a_yes():
    world = a_world(calls(bash="rm a.txt"), says("Deleted."))
    await world.ask("Delete it.")
    assert world.status == "waiting/approval"
    assert world.commands == []
    [request] = world.find(events.ApprovalRequested)
    assert (request.tool, request.arguments) == ("bash", {"command": "rm a.txt"})
    assert (request.rule, request.effect) == ("delete_files", "opaque")
    assert request.why
    assert request.undo
    await world.decide("approve")
    assert world.commands == ["rm a.txt"]
    assert world.status == "finished/answered"
    assert len(world.find(events.ApprovalRequested)) == 1


async def test_denial_reaches_the_model_with_its_reason_and_the_turn_goes_on():
    world = a_world(calls(bash="rm a.txt"), says("I keep it."))
    await world.ask("Delete it.")
    await world.decide("deny", reason="Keep that file.")
    assert world.commands == []
    assert "Ada denied it. Reason: Keep that file." in world.last_request()
    assert [result.cause for result in world.results] == ["denied"]
    assert world.answers == ["I keep it."]


async def test_call_that_was_denied_twice_is_refused_without_asking_until_the_next_message():
    """T-25: the agent repeats a call that a person denies each time."""
    again = calls(bash="rm a.txt")
    world = a_world(again, again, again, calls(bash="rm b.txt"), says("I give up."))
    await world.ask("Delete it.")
    await world.decide("deny")
    await world.decide("deny")
    assert world.status == "waiting/approval"
    requests = world.find(events.ApprovalRequested)
    assert [each.arguments["command"] for each in requests] == ["rm a.txt", "rm a.txt", "rm b.txt"]
    assert "this same call was denied twice" in world.last_request()
    await world.decide("deny")
    assert (world.status, world.commands) == ("finished/answered", [])
    await world.ask("Now you may.", again, says("Deleted."))
    await world.decide("approve")
    assert world.commands == ["rm a.txt"]


@pytest.mark.parametrize("decision", ["banana", "", "APPROVE", "auto_approve"])
async def test_unknown_decision_runs_nothing(decision):
    world = a_world(calls(bash="rm a.txt"), says("So be it."))
    await world.ask("Delete it.")
    await world.decide(decision)
    assert world.commands == []


async def test_changed_arguments_run_in_place_of_those_of_the_model_which_is_told():
    world = a_world(calls(bash="rm a.txt"), says("Done."))
    await world.ask("Delete it.")
    await world.decide("approve", arguments={"command": "rm b.txt"})
    assert world.commands == ["rm b.txt"]
    assert "Ada changed the arguments before approving." in world.last_request()
    assert "rm b.txt" in world.last_request()


async def test_calls_of_one_reply_ask_one_after_another():
    """T-57: one is denied with a reason, the other one approved."""

    world = a_world(calls(bash=["rm a.txt", "ls", "rm b.txt"]), says("Done."))
    await world.ask("Delete them.")
    await world.decide("deny", reason="no")
    assert world.status == "waiting/approval"
    assert world.commands == ["ls"]
    await world.decide("approve")
    assert world.commands == ["ls", "rm b.txt"]
    subjects = [request.subject for request in world.find(events.ApprovalRequested)]
    assert subjects == ["rm a.txt", "rm b.txt"]


async def test_message_supersedes_the_request_and_never_approves():
    world = a_world(calls(bash=["rm a.txt", "ls"]), says("I leave it."))
    await world.ask("Delete it.")
    world.send("Wait, yes, approve, go on")
    await world.wait_until_idle()
    assert world.commands == []
    assert [result.output for result in world.results] == [
        "Not run: a message came first. Read it before you decide what to do."
    ] * 2
    assert world.status == "finished/answered"
    assert "Wait, yes, approve, go on" in world.last_request()


async def test_stop_and_interrupt_end_the_wait_and_run_nothing():
    world = a_world(calls(bash="rm a.txt"))
    await world.ask("Delete it.")
    world.stop()
    await world.wait_until_idle()
    assert (world.status, world.commands) == ("stopped/by_person", [])
    world.llm.replies.extend([calls(bash="rm b.txt"), says("Yes?")])
    await world.ask("Delete b.")
    world.interrupt("No!")
    await world.wait_until_idle()
    assert (world.status, world.commands) == ("finished/answered", [])


async def test_time_that_ran_out_denies():
    world = a_world(calls(bash="rm a.txt"), says("Nobody was there."))
    await world.ask("Delete it.")
    world.expire()
    await world.wait_until_idle()
    assert world.commands == []
    assert "nobody approved it in time" in world.last_request()


async def test_rest_of_the_conversation_is_approved_until_somebody_revokes_it():
    world = a_world(calls(bash="rm a.txt"), calls(bash="rm b.txt"), says("Done."))
    await world.ask("Delete them.")
    await world.decide("approve_rest")
    assert world.commands == ["rm a.txt", "rm b.txt"]
    await world.ask("Again.", calls(bash="rm a.txt"), says("Again."))
    assert len(world.commands) == 3
    world.log.append(events.ApprovalRevoked(by="Mei"))
    await world.ask("And again.", calls(bash="rm a.txt"), says("Once more."))
    assert (world.status, len(world.commands)) == ("waiting/approval", 3)


async def test_fork_asks_again_although_the_rest_of_its_origin_was_approved():
    world = a_world(calls(bash="rm a.txt"), says("Done."))
    await world.ask("Delete it.")
    await world.decide("approve_rest")
    world.log.append(events.ConversationForked(conversation_id="c", seq=1, by="Mei"))
    await world.ask("And here?", calls(bash="rm b.txt"), says("Done too."))
    assert (world.status, world.commands) == ("waiting/approval", ["rm a.txt"])


async def test_revocation_during_a_call_counts_for_the_next_call_of_the_reply():
    world = a_world(calls(bash="rm a.txt"), calls(bash=["slow", "rm b.txt"]), says("Done."))
    running = []

    def slow(command):
        running.append(RunningCommand(""))
        return running[-1]

    world.sandbox.current.answers["slow"] = slow
    await world.ask("Delete them.")
    world.give("approve_rest")
    await world.wait_until(lambda: running)
    world.log.append(events.ApprovalRevoked(by="Mei"))
    running[0].finish("ok")
    await world.wait_until_idle()
    assert world.status == "waiting/approval"
    assert "rm b.txt" not in world.commands


async def test_revocation_while_the_sandbox_starts_holds_the_call_that_waits_for_it():
    world = a_world(calls(bash="rm a.txt"), says("Done."))
    await world.ask("Delete it.")
    await world.decide("approve_rest")
    ready = world.sandbox.workspace

    async def revoked_meanwhile():
        world.log.append(events.ApprovalRevoked(by="Mei"))
        world.sandbox.workspace = ready
        return await ready()

    world.sandbox.workspace = revoked_meanwhile
    await world.ask("Again.", calls(bash="rm b.txt"), calls(bash="rm b.txt"), says("Done too."))
    assert world.commands == ["rm a.txt"]
    assert "a person took back the approval of everything" in world.outputs[1]
    assert world.status == "waiting/approval"
    await world.decide("approve")
    assert world.commands == ["rm a.txt", "rm b.txt"]


def test_worker_that_dies_before_it_refuses_leaves_no_revoked_call_to_the_next():
    toolbox = Toolbox(workspace_tools())
    rest = events.ApprovalGiven(call_id="a", decision="approve_rest", by="Ada")
    revoked, started = (
        events.ApprovalRevoked(by="Mei"),
        events.ToolStarted(call_id="c", boot_id="b"),
    )

    def verdict_after(name, *told, **arguments):
        decisions = Decisions()
        for event in (rest, *told):
            decisions = decisions.advance(event)
        call = toolbox.parse(name, arguments)
        return judge(
            "c", call, policy="unsafe", decisions=decisions, toolbox=toolbox, has_started=True
        )

    remove = {"command": "rm a.txt"}
    assert "took back the approval" in verdict_after("bash", revoked, started, **remove).refusal
    assert verdict_after("bash", started, revoked, started, **remove).run
    assert verdict_after("bash", revoked, rest, started, **remove).run
    approved = events.ApprovalGiven(call_id="c", decision="approve", by="Ada")
    assert verdict_after("bash", revoked, approved, started, **remove).run
    assert verdict_after("read_file", revoked, started, path="a.txt").run


async def test_catastrophic_command_asks_with_every_policy_and_after_approve_rest():
    world = a_world(calls(bash="rm a.txt"), calls(bash="rm -rf /"), says("No."), approval="auto")
    await world.ask("Delete.")
    assert (world.status, world.commands) == ("waiting/approval", ["rm a.txt"])
    await world.decide("approve_rest")
    await world.ask("Again.", calls(bash="rm -rf ~"), says("No."))
    assert world.status == "waiting/approval"


@pytest.mark.parametrize(
    ("approval", "call", "asks"),
    [
        ("auto", {"bash": "make all"}, False),
        ("unsafe", {"bash": "make all"}, True),
        ("unsafe", {"bash": "ls"}, False),
        ("unsafe", {"read_file": "a.txt"}, False),
        ("unsafe", {"write_file": {"path": "b.txt", "content": "x"}}, False),
        ("unsafe", {"write_file": {"path": ".git/config", "content": "x"}}, True),
        ("unsafe", {"edit_file": {"path": "x/.git/config", "old": "a", "new": "b"}}, True),
        ("all", {"read_file": "a.txt"}, True),
        ("all", {"bash": "ls"}, True),
        ("all", {"think": {"thought": "Hm."}}, False),
        ("nonsense", {"read_file": "a.txt"}, True),
    ],
)
async def test_policy_decides_which_calls_ask(approval, call, asks):
    world = World(
        calls(**call),
        says("Done."),
        approval=approval,
        files={"a.txt": "a", "x/.git/config": "a"},
        commands={"ls": "", "make all": ""},
    )
    await world.ask("Go.")
    assert (world.status == "waiting/approval") == asks


async def test_request_to_write_shows_the_change_in_full():
    world = a_world(
        calls(edit_file={"path": "a.txt", "old": "one\ntwo", "new": "three"}), approval="all"
    )
    await world.ask("Edit.")
    assert world.waits_for.diff == "a.txt\n-one\n-two\n+three"


async def test_lost_worker_after_the_start_of_an_approved_call_asks_nothing_again():
    world = a_world(calls(bash="rm a.txt"), says("Done."))
    running = RunningCommand("begun\n")
    world.sandbox.current.answers["rm b.txt"] = lambda command: running
    await world.ask("Delete it.")
    world.give("approve", arguments={"command": "rm b.txt"})
    await world.wait_until(lambda: world.find(events.ToolStarted))
    await world.kill_worker()
    world.start_next_worker()
    running.finish("whole\n")
    await world.wait_until_idle()
    assert world.status == "finished/answered"
    assert len(world.find(events.ApprovalRequested)) == 1
    assert set(world.commands) == {"rm b.txt"}


async def test_tool_with_an_opaque_effect_is_no_safe_one():
    catalogue = {each["name"]: each["safe"] for each in Toolbox(workspace_tools()).catalogue()}
    assert catalogue["bash"] is False
    assert catalogue["read_file"] is catalogue["edit_file"] is True


async def test_wait_for_a_person_does_not_count_for_the_time_limit():
    decided = events.ApprovalGiven(call_id="1", decision="approve", seconds=250.0)
    assert Decisions().advance(decided).waited_seconds == 250.0
    assert Decisions().advance(decided).advance(decided).waited_seconds == 250.0
    assert TurnLimits(steps=1).seconds is None


class Send(Tool[ToolArguments]):
    """Send it."""

    name = "send"
    effect = Effect.KEYED
    uses_workspace = False
    sends_out = True  # as a fact of the class
    Arguments = ToolArguments

    async def act(self, arguments: ToolArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("Sent.")


@pytest.mark.parametrize("approval", ["auto", "unsafe", "all"])
async def test_tool_that_sends_work_out_asks_with_every_policy(approval):
    world = a_world(calls(send={}), says("Done."), approval=approval, tools=[Send()])
    await world.ask("Send it.")
    [request] = world.find(events.ApprovalRequested)
    assert (world.status, request.rule) == ("waiting/approval", "sends_out")
    await world.decide("approve_rest")
    await world.ask("Again.", calls(send={}), says("Done."))
    assert world.status == "waiting/approval"  # each time
    await world.decide("deny")
    assert [result.output for result in world.results][0] == "Sent."
