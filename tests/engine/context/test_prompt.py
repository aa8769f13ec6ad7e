"""The system prompt: its parts and their order, and the prompts of the trigger types."""

import pytest

from paca.engine.context import trigger_prompts
from paca.engine.context.prompt import AgentIdentity, assemble_system_prompt, join_parts
from paca.engine.context.skills import SkillSummary

WRITER = AgentIdentity("Ada", "ada", "Boats", "Writes.")
SKILLS = (
    SkillSummary("boats", "How to\nbuild boats."),
    SkillSummary("style", "House style.", "Write short sentences."),
)


def test_parts_of_the_prompt_come_in_a_fixed_order() -> None:
    parts = assemble_system_prompt(WRITER, system="Be kind.", trigger="Go.", skills=SKILLS)
    names = ["system", "identity", "skills", "skill_index", "rules", "trigger"]
    assert [part.name for part in parts] == names
    assert join_parts(parts) == "\n\n".join(part.text for part in parts)


def test_index_names_the_skills_and_holds_no_text_of_them() -> None:
    parts = assemble_system_prompt(WRITER, system="", trigger="", skills=SKILLS)
    texts = {part.name: part.text for part in parts}
    assert texts["skill_index"].endswith("\n- boats: How to build boats.")
    assert "read_skill" in texts["skill_index"]
    assert "style" not in texts["skill_index"]
    assert '<skill name="style">\nWrite short sentences.\n</skill>' in texts["skills"]


def test_empty_parts_are_left_out() -> None:
    parts = assemble_system_prompt(WRITER, system=" ", trigger="\n")
    assert [part.name for part in parts] == ["identity", "rules"]


def test_workspace_is_the_only_placeholder_of_a_prompt() -> None:
    system = "Work in {workspace}. Write {json} and {0}."
    parts = assemble_system_prompt(WRITER, system=system, trigger="See {workspace}/a.")
    assert parts[0].text == "Work in /workspace. Write {json} and {0}."
    assert parts[-1].text == "See /workspace/a."


def test_agents_own_prompt_replaces_the_default_of_its_trigger_type() -> None:
    assert trigger_prompts.prompt_for("execute", " Own. ") == "Own."
    assert trigger_prompts.prompt_for("execute", "  ") == trigger_prompts.EXECUTE
    assert trigger_prompts.prompt_for("of_another_version") == ""


# What each default prompt must say: without it agents have posted twice, asked nobody, or guessed.
@pytest.mark.parametrize(
    ("trigger_type", "statements"),
    [
        (
            "task_assigned",
            ("First read the task", "do not guess: ask", "Nobody reads this conversation")
            + ("final answer becomes a comment", "@handle", "Set the status", "not in files"),
        ),
        (
            "comment_mention",
            ("First read what the comment is about", "A question needs an answer")
            + ("final answer becomes the reply", "do not post it with a tool as well", "@handle"),
        ),
        ("chat_message", ("Answer here", "ask before you act", "as a comment too")),
        (
            "description_write",
            ("present description", "final answer is the new description, and nothing else")
            + ("acceptance criteria", "Ask no questions", "Assumptions"),
        ),
        (
            "execute",
            ("Nobody is watching", "do not wait for a reply", "final answer is the report"),
        ),
    ],
)
def test_default_prompt_says_what_its_trigger_type_needs(
    trigger_type: str, statements: tuple[str, ...]
) -> None:
    prompt = trigger_prompts.DEFAULTS[trigger_type]
    assert [said for said in statements if said not in prompt] == []
    assert len(prompt) < 1000  # every conversation of this type pays for it
