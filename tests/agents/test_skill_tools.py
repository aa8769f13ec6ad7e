"""The tools ``list_skills`` and ``read_skill``."""

from typing import Any

import pytest

from paca.agents.skill_reading import OpenedSkill
from paca.agents.skill_tools import SkillLibrary, skill_tools
from paca.engine.context.skills import SkillSummary
from paca.engine.tools.base import ToolContext, ToolOutput, perform
from paca.engine.tools.formatting import MAX_OUTPUT_BYTES
from paca.engine.tools.registry import Toolbox

pytestmark = pytest.mark.anyio
SUMMARIES = (SkillSummary("boats", "Builds boats."), SkillSummary("style", "Style.", "Be brief."))
FILES = {"form.md": "Ünï".encode(), "logo.png": b"\x89PNG\xff", "nul": b"a\0", "big": b"x" * 99_999}


class Access:
    """One skill."""

    async def open(self, name: str) -> OpenedSkill | None:
        return OpenedSkill(name, "How to.", tuple(FILES)) if name == "boats" else None

    async def read_file(self, name: str, path: str) -> bytes | None:
        return FILES.get(path)


async def no_workspace() -> Any:
    raise AssertionError("a skill is read without a sandbox")


async def use(tool: str, **arguments: Any) -> ToolOutput:
    toolbox = Toolbox(skill_tools(SkillLibrary(SUMMARIES, Access())))
    return await perform(toolbox.parse(tool, arguments), ToolContext("c", no_workspace))


async def test_skills_are_listed_with_what_they_are_for() -> None:
    listed = (await use("list_skills")).output
    assert listed == "- boats: Builds boats.\n- style: Style. (in your prompt)"


@pytest.mark.parametrize("name", ["boats", " /boats"])
async def test_skill_is_opened_with_the_paths_of_its_files(name: str) -> None:
    opened = await use("read_skill", name=name)
    assert opened.output.startswith('<skill name="boats">\nHow to.\n</skill>\n')
    assert "\n- /skills/boats/form.md\n" in opened.output
    assert not opened.failed


@pytest.mark.parametrize("path", ["form.md", "/skills/boats/form.md"])
async def test_text_file_of_a_skill_is_read(path: str) -> None:
    assert await use("read_skill", name="boats", file=path) == ToolOutput("Ünï")


async def test_long_file_of_a_skill_is_cut_in_the_middle() -> None:
    read = await use("read_skill", name="boats", file="big")
    assert read.truncated
    assert len(read.output) < MAX_OUTPUT_BYTES + 200


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"name": "pirates"}, "You have no skill pirates. Your skills are: boats, style."),
        ({"name": "boats", "file": "../x"}, "The skill has no file ../x. Its files are: form.md"),
        (
            {"name": "boats", "file": "logo.png"},
            "binary (5 bytes). Use it in a command, as /skills/",
        ),
        ({"name": "boats", "file": "nul"}, "binary (2 bytes)"),
    ],
)
async def test_wrong_name_gets_the_names_that_there_are(arguments: Any, told: str) -> None:
    answer = await use("read_skill", **arguments)
    assert answer.failed
    assert told in answer.output


def test_agent_without_skills_has_no_tools_for_them() -> None:
    assert skill_tools(SkillLibrary()) == ()
