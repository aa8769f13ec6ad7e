"""Skills and AGENTS.md in whole journeys: what the model is shown of them, and when."""

import asyncio

import pytest

from paca.agents.services import skills
from tests.agents.test_skill_archive import zipped
from tests.support.flow import Flow, assert_replay_matches
from tests.support.model_script import calls, says

AGENTS_MD = "Run the tests with make check."
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
DOCUMENT = (
    b"---\nname: boats\ndescription: Builds boats.\ntriggers: [hull]\n---\nCaulk the seams.\n"
)


def test_skill_is_opened_by_a_keyword_and_another_by_the_agent(flow: Flow) -> None:
    by = flow.world.owner
    files = {"SKILL.md": DOCUMENT, "plan.md": b"Twelve ribs."}
    skills.create_from_upload(flow.world.agent, zipped(files), by=by)
    skills.create_from_template(flow.world.agent, "ba", by=by)
    uses = calls(bash="cat /skills/boats/plan.md; echo changed > /skills/boats/plan.md")
    reads = calls(read_skill={"name": "ba"}, list_skills={}) + calls(
        read_skill={"name": "boats", "file": "plan.md"}
    )
    conversation = flow.ask("Repair the hull", [reads, uses, says("Done.")])
    flow.ask("And the other hull", [says("Done too.")], after=conversation)

    first, second, _, third = [request.body for request in flow.model.requests]
    assert "- boats: Builds boats." in str(first["system"])
    assert "Caulk the seams." not in str(first["system"])
    assert str(first["messages"]).count("Caulk the seams.") == 1
    # Opened once, and what stands before a new message never changes.
    assert str(third["messages"]).count("Caulk the seams.") == 1
    assert (first["system"], first["tools"]) == (third["system"], third["tools"])
    assert [said["role"] for said in third["messages"][: len(second["messages"])]] == [
        said["role"] for said in second["messages"]
    ]
    [of_ba, listed, used, plan] = sorted(conversation.outputs, key=len, reverse=True)
    assert used.startswith("Twelve ribs.")
    assert "Read-only file system" in used
    assert "# Business analyst" in of_ba
    assert "- ba: Business analysis." in listed
    assert plan == "Twelve ribs."
    # The texts of skills come from people of the project, so they are not marked as data.
    assert "from read_skill>" not in str(third["messages"])
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_agents_md_is_shown_when_a_sandbox_starts_and_again_only_if_it_was_changed(
    flow: Flow,
) -> None:
    write = calls(write_file={"path": "AGENTS.md", "content": AGENTS_MD})
    conversation = flow.ask("Write it", [write, says("Written.")])
    assert conversation.event_data("instructions.read") == []  # the agent has written it itself
    for question in ("What does it say?", "And now?"):
        asyncio.run(flow.sandboxes().sweep(set()))
        flow.ask(question, [calls(bash="true"), says("To run them.")], after=conversation)
    [read] = conversation.event_data("instructions.read")
    assert (read["path"], read["text"], read["truncated"]) == ("AGENTS.md", AGENTS_MD, False)
    last = str(flow.model.requests[-1].body["messages"])
    assert last.count(f"from AGENTS.md>\\n{AGENTS_MD}\\n</data") == 1
    assert flow.model.violations == []
    assert_replay_matches(conversation)
