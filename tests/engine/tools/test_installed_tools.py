"""Packages with custom tools: which count, and those that are broken or have the name of another."""

import sys
from pathlib import Path

import pytest

from paca.agents import toolbox
from paca.engine.tools import installed

TOOL = """
class {name}:
    "A tool of a test."
    name = "{tool}"
    effect = "read_only"
    def handle(self, arguments, call):
        return "done"
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a package with one entry point where Python finds it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def install(name: str, code: str, *, record: bool = True, target: str = "") -> None:
        module = f"installed_{name}"
        (tmp_path / f"{module}.py").write_text(code)
        facts = tmp_path / f"{name}-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        entry = f"[paca.tools]\nentry = {module}:{target or 'Made'}\n"
        (facts / "entry_points.txt").write_text(entry)
        if record:
            (facts / "RECORD").write_text(f"{module}.py,,\n")

    yield install
    for name in set(sys.modules) - before:
        if name.startswith("installed_"):
            del sys.modules[name]


def made(tool: str) -> str:
    return TOOL.format(name="Made", tool=tool)


def load():
    return installed.load(taken={"bash"})


def test_tools_of_installed_packages_are_found_in_a_fixed_order(packages):
    packages("sky", made("weather"))
    packages("board", made("board"))
    found = load()
    assert [(each.name, each.package) for each in found.tools] == [
        ("board", "board 1.0"),
        ("weather", "sky 1.0"),
    ]
    assert found.problems == ()


def test_folder_that_nothing_has_installed_does_not_count(packages):
    packages("sky", "raise SystemError('it was imported')", record=False)
    assert load() == installed.InstalledTools()


BROKEN = {
    "raise RuntimeError('password=hunter2')": "It cannot be loaded: RuntimeError.",
    "import no_such_module": "It cannot be loaded: ModuleNotFoundError, there is no module no_such_module.",
    "import sys; sys.exit(1)": "It cannot be loaded: SystemExit.",
    "def (": "It cannot be loaded: SyntaxError.",
    "Other = 1": "It cannot be loaded: AttributeError.",
    "Made = 1": "it is no class with a method handle(arguments, call).",
    made("bash"): "Paca has a tool bash of its own; rename this one.",
}


@pytest.mark.parametrize(("code", "problem"), BROKEN.items(), ids=[*BROKEN.values()])
def test_broken_package_is_reported_and_the_others_work(packages, caplog, code, problem):
    packages("bad", code)
    packages("sky", made("weather"))
    found = load()
    assert [each.name for each in found.tools] == ["weather"]
    assert [(each.package, each.entry, each.problem) for each in found.problems] == [
        ("bad 1.0", "entry", problem)
    ]
    (record,) = [each for each in caplog.records if each.message == "custom tool left out"]
    assert (record.package, record.problem) == ("bad 1.0", problem)
    assert "hunter2" not in str([vars(each) for each in caplog.records])


def test_package_whose_entry_points_cannot_be_read_is_reported_and_the_others_work(
    packages, tmp_path
):
    packages("bad", made("bad"))
    (tmp_path / "bad-1.0.dist-info" / "entry_points.txt").write_text("[paca.tools]\nno entry\n")
    packages("sky", made("weather"))
    found = load()
    assert [each.name for each in found.tools] == ["weather"]
    assert [(each.package, each.problem) for each in found.problems] == [
        ("bad-1.0.dist-info", "What it has installed cannot be read: TypeError.")
    ]


@pytest.mark.parametrize("name", ["list_mcp_resources", "read_mcp_resource", "read_mcp_prompt"])
def test_package_has_no_name_of_a_tool_that_comes_with_mcp_servers(packages, name):
    packages("sky", made(name))
    toolbox.forget_installed_tools()
    try:
        assert [each.name for each in toolbox.installed_tools().tools] == []
        (problem,) = toolbox.installed_tools().problems
    finally:
        toolbox.forget_installed_tools()
    assert problem.problem == f"Paca has a tool {name} of its own; rename this one."


def test_of_two_packages_with_one_name_of_a_tool_neither_is_used(packages):
    packages("sky", made("weather"))
    packages("storm", made("weather"))
    found = load()
    assert found.tools == ()
    assert [each.package for each in found.problems] == ["sky 1.0", "storm 1.0"]
    assert {each.problem for each in found.problems} == {
        "Another installed tool is named weather too; neither is used."
    }
