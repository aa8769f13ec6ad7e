"""The git tools read a repository and run nothing that it configures."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.engine.tools.conftest import ToolSession

pytestmark = pytest.mark.anyio


@pytest.fixture
def repository(session: ToolSession) -> ToolSession:
    session.put("app.py", "one\n")
    session.put("ü b.txt", "one\n")
    git(session, "init", "-q", "-b", "main")
    git(session, "add", "-A")
    git(session, "commit", "-q", "-m", "First")
    return session


def git(session: ToolSession, *words: str) -> None:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *words], cwd=session.workspace.root, check=True)


def run_git(session: ToolSession, *words: str) -> None:
    """Run git as a command of the agent would, with all that the repository configures."""
    env = {"PATH": os.environ["PATH"], "HOME": str(session.workspace.root)}
    subprocess.run(["git", *words], cwd=session.workspace.root, env=env, check=False)


async def test_git_status_names_branch_and_changes(repository: ToolSession):
    assert (await repository.call("git_status")).output == "## main\nNothing is changed."
    repository.put("app.py", "two\n")
    repository.put("new.txt", "")
    assert (await repository.call("git_status")).output == "## main\n M app.py\n?? new.txt"


async def test_git_diff_shows_the_working_tree_the_index_or_a_revision(repository: ToolSession):
    assert (await repository.call("git_diff")).output == "There are no differences."
    repository.put("app.py", "two\n")
    repository.put("ü b.txt", "two\n")
    both = (await repository.call("git_diff")).output
    assert "diff --git a/app.py b/app.py" in both
    assert "ü b.txt" in both
    one = (await repository.call("git_diff", path="app.py")).output
    assert "-one\n+two" in one
    assert "ü b.txt" not in one
    git(repository, "add", "app.py")
    assert "app.py" in (await repository.call("git_diff", staged=True)).output
    assert "app.py" not in (await repository.call("git_diff")).output
    assert "app.py" in (await repository.call("git_diff", revision="HEAD")).output


async def test_git_log_lists_the_newest_first(repository: ToolSession):
    repository.put("app.py", "two\n")
    git(repository, "commit", "-qam", "Second")
    lines = (await repository.call("git_log")).output.split("\n")
    assert [line.rpartition(": ")[2] for line in lines] == ["Second", "First"]
    assert "Ada (HEAD -> main)" in lines[0]
    assert len((await repository.call("git_log", limit=1)).output.split("\n")) == 1
    assert "Second" not in (await repository.call("git_log", path="ü b.txt")).output
    assert (
        await repository.call("git_log", revision="HEAD..main")
    ).output == "There are no commits."


@pytest.mark.parametrize("tool", ["git_status", "git_diff", "git_log"])
async def test_git_tools_name_a_folder_without_a_repository(session: ToolSession, tool: str):
    session.put("docs/a", "")
    result = await session.call(tool, repository="docs")
    assert (result.failed, result.output) == (True, "The folder docs is in no git repository.")


async def test_git_tools_show_gits_error_for_a_missing_revision(repository: ToolSession):
    result = await repository.call("git_log", revision="nope")
    assert (result.failed, result.exit_code) == (True, 128)
    assert "nope" in result.output


async def test_git_tools_run_nothing_that_a_repository_configures(repository: ToolSession):
    trap = repository.put("trap.sh", "#!/bin/sh\necho x >> $HOME/pwned\ncat\n")
    trap.chmod(0o755)
    hook = repository.put(".git/hooks/post-index-change", trap.read_text())
    hook.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "diff.x.command",
        "diff.x.textconv",
        "gpg.program",
    ):
        git(repository, "config", key, str(trap))
    git(repository, "config", "log.showSignature", "true")
    repository.put(".gitattributes", "*.py diff=x\n")
    repository.put("app.py", "two\n")
    for tool in ("git_status", "git_diff", "git_log"):
        assert not (await repository.call(tool)).failed
    assert "-one\n+two" in (await repository.call("git_diff")).output
    assert not (repository.workspace.root / "pwned").exists()


@pytest.fixture
def trap(repository: ToolSession) -> Path:
    """A program that leaves a mark; a repository may name it, and no tool runs it."""
    program = repository.put("trap.sh", '#!/bin/sh\necho x >> "$HOME/pwned"\ncat\n')
    program.chmod(0o755)
    return program


FILTER_KEYS = {
    "clean": "filter.x.clean",
    "process": "filter.x.process",
    "a name with signs": "filter.a=b.c d.clean",
}


@pytest.mark.parametrize("key", FILTER_KEYS.values(), ids=FILTER_KEYS)
@pytest.mark.parametrize("place", [".git/config", "included.cfg"])
async def test_git_tools_run_no_filter_of_a_repository(
    repository: ToolSession, trap: Path, key: str, place: str
):
    name = key.removeprefix("filter.").rpartition(".")[0]
    config = str(repository.workspace.root / place)
    git(repository, "config", "include.path", str(repository.workspace.root / "included.cfg"))
    git(repository, "config", "--file", config, key, str(trap))
    git(repository, "config", "--file", config, f"filter.{name}.required", "true")
    attribute = name if name == "x" else "x"
    git(repository, "config", "--file", config, "filter.x.required", "true")
    repository.put(".git/info/attributes", f"*.txt filter={attribute}\n")
    repository.put(".gitattributes", f"*.py filter={attribute}\n")
    repository.put("app.py", "two\n")
    status = await repository.call("git_status")
    assert (status.failed, " M app.py" in status.output) == (False, True)
    assert "-one\n+two" in (await repository.call("git_diff")).output
    assert not (repository.workspace.root / "pwned").exists()
    if key == "filter.x.clean":  # the trap works: git itself would run it
        run_git(repository, "status")
        assert (repository.workspace.root / "pwned").exists()


async def test_git_tools_run_nothing_that_a_submodule_configures(
    repository: ToolSession, trap: Path
):
    root = repository.workspace.root
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "./.git", "sub")
    git(repository, "commit", "-qm", "With a submodule")
    for setting, value in (
        ("core.fsmonitor", str(trap)),
        ("filter.x.clean", str(trap)),
        ("diff.external", str(trap)),
    ):
        git(repository, "-C", "sub", "config", setting, value)
    git(repository, "config", "diff.submodule", "diff")
    git(repository, "config", "status.submoduleSummary", "true")
    repository.put("sub/.gitattributes", "*.py filter=x\n")
    repository.put("sub/app.py", "two\n")
    for tool in ("git_status", "git_diff", "git_log"):
        assert not (await repository.call(tool)).failed
    assert not (root / "pwned").exists()


async def test_git_tools_fetch_no_missing_object(repository: ToolSession, trap: Path):
    for setting, value in (
        ("remote.origin.url", f"ext::{trap}"),
        ("remote.origin.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("core.repositoryFormatVersion", "1"),
        ("protocol.ext.allow", "always"),
        ("protocol.allow", "always"),
    ):
        git(repository, "config", setting, value)
    repository.put("app.py", "two\n")
    for file in (repository.workspace.root / ".git/objects").glob("5[0-9a-f]/*"):
        file.unlink()  # the content "one"
    await repository.call("git_diff")
    assert not (repository.workspace.root / "pwned").exists()


async def test_git_tools_read_a_repository_of_another_user(repository: ToolSession):
    command = repository.workspace.executed
    await repository.call("git_status")
    assert "safe.directory=*" in (command[-1].argv or ())
