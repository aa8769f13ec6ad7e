"""Which skills a message calls for."""

import pytest

from paca.engine.context.skills import SkillMatch, find_matches, format_skill

SKILLS = [("dev", ["pr", "bug", "C++"]), ("qa", ["test case", "défaut"]), ("ops", [])]


@pytest.mark.parametrize(
    ("text", "name", "keyword"),
    [
        ("Fix the BUG now", "dev", "bug"),
        ("(bug)", "dev", "bug"),
        ("Open a PR, please", "dev", "pr"),
        ("Write it in C++.", "dev", "C++"),
        ("a test\n  case", "qa", "test case"),
        ("Un Défaut!", "qa", "défaut"),
        ("/ops look at this", "ops", ""),
        ("please use /Ops", "ops", ""),
        ("(/ops)", "ops", ""),
        ("/dev the bug", "dev", ""),
    ],
)
def test_message_calls_for_a_skill(text: str, name: str, keyword: str) -> None:
    assert find_matches(text, SKILLS) == [SkillMatch(name, keyword)]


@pytest.mark.parametrize(
    "text",
    ["print it", "debugging", "a bug_report", "test cases", "/opsx", "/ops-team", "/ops/x", "ops"]
    + ["https://example.org/ops", "a/ops", "//ops", "", "prüfen"],
)
def test_part_of_a_word_or_address_calls_for_none(text: str) -> None:
    assert find_matches(text, SKILLS) == []


def test_named_skills_come_first_and_at_most_three_are_loaded() -> None:
    skills = [(name, ["all"]) for name in "abcd"] + [("z", ["all"])]
    found = find_matches("all of /z", skills)
    assert [match.name for match in found] == ["z", "a", "b"]


def test_text_of_a_skill_names_its_files_in_the_sandbox() -> None:
    assert format_skill("a", " Do.\n") == '<skill name="a">\nDo.\n</skill>'
    assert format_skill("a", "Do.", ["x/y.py"]).endswith("\n- /skills/a/x/y.py")
