"""Plan mode: only reads run until a person approves a plan, whatever was offered, and over every restart."""

import pytest

from paca import events
from paca.agents.toolbox import make_toolbox
from paca.engine.approvals.decisions import Decisions
from paca.engine.approvals.plans import PlanState, refusal_in_plan_mode
from paca.engine.approvals.policy import judge
from paca.engine.context.carrying import carried_text
from paca.engine.limits import TurnProgress
from tests.engine.world import World
from tests.support.model_script import calls, says

pytestmark = pytest.mark.anyio

STEPS = ["Read the file.", "Change it.", "Run the tests."]
TOOLBOX = make_toolbox()
PROPOSE = calls(propose_plan={"title": "Mend the tests", "steps": STEPS})


def parsed(name, **arguments):
    return TOOLBOX.parse(name, arguments)


def a_world(*replies, plan=True, **options):
    world = World(
        *replies, files={"a.txt": "text\n"}, commands={"ls": "a.txt", "make": "ok"}, **options
    )
    if plan:
        world.log.append(events.FlagsChanged(plan=True, by="Ada"))
    return world


async def test_plan_mode_runs_reads_and_refuses_all_other_tools_with_the_way_out():
    world = a_world(
        calls(("read_file", {"path": "a.txt"}), ("bash", {"command": "ls"})),
        calls(write_file={"path": "b.txt", "content": "x"}),
        says("So I plan."),
    )
    await world.ask("Mend it.")
    assert world.commands == []
    assert list(world.sandbox.current.files) == ["a.txt"]
    read, *refused = world.results
    assert "text" in read.output
    assert [result.cause for result in refused] == ["refused", "refused"]
    assert all("plan mode" in result.output for result in refused)
    assert all("propose_plan" in result.output for result in refused)


async def test_plan_mode_is_told_in_the_history_and_leaves_prompt_and_tools_as_they_are():
    plain = a_world(says("ok"), plan=False)
    planning = a_world(says("ok"))
    for world in (plain, planning):
        await world.ask("Mend it.")
    one, other = plain.llm.requests[0], planning.llm.requests[0]
    assert (one.system, one.tools) == (other.system, other.tools)
    assert "[Plan mode is on." in str(other.messages)
    assert "Plan mode" not in str(one.messages)


async def test_approved_plan_ends_plan_mode_and_its_steps_tick():
    world = a_world(
        PROPOSE,
        calls(update_plan={"step": 1, "state": "started"}),
        calls(("bash", {"command": "make"}), ("update_plan", {"step": 1, "state": "done"})),
        says("Done."),
    )
    await world.ask("Mend it.")
    assert world.status == "waiting/approval"
    await world.decide_plan("approve", feedback="Be quick.")
    assert world.commands == ["make"]
    assert "Ada approved the plan. All your tools run now. Ada says: Be quick." in world.outputs[0]
    assert "2. Change it." in world.outputs[0]
    first, second = world.find(events.PlanChanged)
    assert [step["state"] for step in first.steps] == ["started", "open", "open"]
    assert [step["state"] for step in second.steps] == ["done", "open", "open"]
    assert "1 of 3 steps are done" in world.outputs[-1]
    assert world.log.progress.plan.done == 1


async def test_changed_steps_are_those_of_the_approved_plan():
    world = a_world(PROPOSE, says("ok"))
    await world.ask("Mend it.")
    steps = [{"text": "Read only.", "state": "open"}]
    await world.decide_plan("approve", steps=steps, changed=True)
    assert "approved the plan with changes" in world.outputs[0]
    assert "1. Read only." in world.outputs[0]
    assert "Change it" not in world.outputs[0]
    assert [step.text for step in world.log.progress.plan.steps] == ["Read only."]


@pytest.mark.parametrize("decision", ["reject", "banana", "", "APPROVE"])
async def test_every_other_decision_goes_on_planning(decision):
    world = a_world(PROPOSE, calls(bash="make"), says("I plan on."))
    await world.ask("Mend it.")
    await world.decide_plan(decision, feedback="Smaller steps.")
    assert world.commands == []
    assert "rejected the plan. Feedback: Smaller steps." in world.outputs[0]
    assert "plan mode" in world.outputs[1]
    assert world.log.progress.plan.mode


@pytest.mark.parametrize("plan", [True, False])
@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_calls_beside_a_plan_do_not_run_whatever_people_decide(decision, plan):
    beside = (("bash", {"command": "make"}), ("read_file", {"path": "a.txt"}))
    proposal = ("propose_plan", {"title": "Mend the tests", "steps": STEPS})
    world = a_world(calls(proposal, *beside), says("ok"), plan=plan)
    await world.ask("Mend it.")
    await world.decide_plan(decision)
    assert world.commands == []
    assert world.results[1].cause == "refused"
    assert "text" in world.outputs[2]


async def test_mode_that_comes_during_a_reply_holds_for_its_calls():
    world = a_world(plan=False)

    def switches_on(_request):
        world.log.append(events.FlagsChanged(plan=True, by="Mei"))
        return calls(("bash", {"command": "make"}), ("read_file", {"path": "a.txt"}))

    await world.ask("Build it", switches_on, says("ok"))
    assert world.commands == []
    assert "plan mode" in world.outputs[0]
    assert "text" in world.outputs[1]


async def test_worker_that_dies_before_it_refuses_leaves_no_call_of_plan_mode_to_the_next():
    call = parsed("bash", command="make")
    for began_in_it in (True, False):
        plan = PlanState(mode=began_in_it).advance(events.ToolStarted(call_id="c", boot_id="b"))
        plan = plan.advance(events.FlagsChanged(plan=True))
        verdict = judge(
            "c",
            call,
            policy="auto",
            decisions=Decisions(),
            toolbox=TOOLBOX,
            plan=plan,
            has_started=True,
        )
        assert bool(verdict.refusal) is began_in_it
        assert (verdict.run is call) is not began_in_it
    assert plan.advance(events.UsageRecorded(call_id="m", model="x")).held == ()


async def test_agent_that_cannot_propose_is_told_another_way_out():
    plan, call = PlanState(mode=True), parsed("bash", command="make")
    assert "call propose_plan" in refusal_in_plan_mode(plan, call, can_propose=True)
    off = make_toolbox(chosen=["bash", "read_file"])
    verdict = judge("c", call, policy="auto", decisions=Decisions(), toolbox=off, plan=plan)
    assert "propose_plan" not in verdict.refusal
    assert "until a person switches it off" in verdict.refusal


async def test_time_and_message_end_the_wait_for_a_decision_and_not_plan_mode():
    world = a_world(PROPOSE, PROPOSE, calls(bash="make"), says("ok"))
    await world.ask("Mend it.")
    world.expire()
    await world.wait_until_idle()
    assert "Nobody decided on the plan in time." in world.outputs[0]
    assert world.status == "waiting/approval"
    world.send("Approve.")
    await world.wait_until_idle()
    assert "Not decided: a message came first." in world.outputs[1]
    assert world.commands == []


async def test_mode_that_a_person_switches_off_gives_the_tools_back():
    proposal = ("propose_plan", {"title": "Mend the tests", "steps": STEPS})
    beside = calls(proposal, ("bash", {"command": "ls"}))
    world = a_world(beside, calls(bash="make"), says("Done."))
    await world.ask("Mend it.")
    plan = world.waits_for
    world.log.append(events.FlagsChanged(plan=False, by="Ada"))
    world._end_wait(
        events.ApprovalSuperseded(call_id=plan.call_id, cause="plan_mode", by="Ada", kind="plan")
    )
    await world.wait_until_idle()
    assert "Ada switched plan mode off" in world.outputs[0]
    assert "Ada switched plan mode off while your plan waited" in world.outputs[1]
    assert "[Plan mode is off." in str(world.llm.requests[1].messages)
    assert world.commands == ["make"]


async def test_mode_holds_over_turns_and_lost_workers():
    world = a_world(says("What shall I do?"), calls(bash="make"), says("I may not."))
    await world.ask("Hello")
    await world.ask("Build it")
    assert world.commands == []
    assert "plan mode" in world.outputs[0]


async def test_mode_refuses_also_a_call_that_was_approved_before():
    world = a_world(calls(bash="rm a.txt"), says("ok"), plan=False, approval="unsafe")
    await world.ask("Delete it")
    world.log.append(events.FlagsChanged(plan=True, by="Mei"))
    await world.decide("approve")
    assert world.commands == []
    assert "plan mode" in world.outputs[0]


async def test_questions_may_be_asked_in_plan_mode():
    world = a_world(calls(ask_person={"question": "Which?"}), PROPOSE, says("ok"))
    await world.ask("Mend it.")
    assert world.status == "waiting/question"
    await world.answer("That one.")
    await world.decide_plan("approve")
    assert world.status == "finished/answered"


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("propose_plan", {"title": "x", "steps": []}, "a list of 1 to 20 steps"),
        ("propose_plan", {"title": "x", "steps": ["s"] * 21}, "a list of 1 to 20 steps"),
        ("propose_plan", {"title": "x", "steps": ["s" * 301]}, "steps"),
        ("propose_plan", {"title": "x", "steps": [" "]}, "steps"),
        ("propose_plan", {"title": "x", "steps": "first, second"}, "steps"),
        ("propose_plan", {"title": "x" * 201, "steps": ["s"]}, "title"),
        ("propose_plan", {"steps": ["s"]}, "title: is missing"),
        ("update_plan", {"step": 0, "state": "done"}, "step"),
        ("update_plan", {"step": 21, "state": "done"}, "step"),
        ("update_plan", {"step": 1, "state": "finished"}, "one of started, done, open"),
        ("update_plan", {"step": 1, "state": "done"}, "no approved plan"),
    ],
)
async def test_plan_of_a_wrong_form_is_told_to_the_model(tool, arguments, words):
    world = a_world(calls((tool, arguments)), says("ok"))
    await world.ask("Go")
    assert world.status == "finished/answered"
    assert words in world.outputs[0]
    assert not world.find(events.PlanProposed)
    assert not world.find(events.PlanChanged)


async def test_step_that_the_plan_does_not_have_is_refused_with_those_it_has():
    world = a_world(PROPOSE, calls(update_plan={"step": 4, "state": "done"}), says("ok"))
    await world.ask("Go")
    await world.decide_plan("approve")
    assert "The plan has 3 steps:\n1. Read the file." in world.outputs[1]
    assert not world.find(events.PlanChanged)


def test_plan_and_question_are_carried_over_a_summary_and_into_a_fork():
    progress = TurnProgress()
    steps = [{"text": "Read.", "state": "done"}, {"text": "Write.", "state": "open"}]
    for event in (
        events.FlagsChanged(plan=True, by="Ada"),
        events.QuestionAsked(call_id="q", question="Which port?"),
        events.QuestionAnswered(call_id="q", text="8001", by="Mei"),
        events.PlanProposed(call_id="p", title="Move it", steps=["Read.", "Write."]),
        events.PlanDecided(call_id="p", decision="approve", title="Move it", steps=steps),
        events.FlagsChanged(plan=True, by="Ada"),
        events.PlanProposed(call_id="r", title="More", steps=["Delete."]),
        events.PlanDecided(call_id="r", decision="reject", title="More", feedback="No."),
        events.TurnStarted(number=2),
        events.ConversationForked(conversation_id="c", seq=5),
    ):
        progress = progress.advance(event)
    text = carried_text(
        progress.compaction, upto_seq=99, characters=9_000, plan=progress.plan.carried
    )
    for words in (
        "Plan mode is on",
        "The approved plan: Move it\n1. Read. (done)\n2. Write.",
        "You proposed the plan More; it is not approved. A person said: No.",
        "You asked the people: Which port?\nMei answered: 8001",
    ):
        assert words in text


def test_unanswered_question_is_carried_as_such():
    state = PlanState().advance(events.QuestionAsked(call_id="q", question="Which port?"))
    assert "Nobody has answered it." in state.carried
    assert state.advance(events.QuestionAnswered(call_id="other", text="x")) is state
    assert PlanState().carried == ""
