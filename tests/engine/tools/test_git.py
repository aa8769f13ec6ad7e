"""Looking at a git repository without running anything it configures."""

import subprocess

import pytest

from tests.engine.tools.conftest import Desk

pytestmark = pytest.mark.anyio


@pytest.fixture
def repository(desk: Desk) -> Desk:
    desk.put("app.py", "one\n")
    desk.put("ü b.txt", "one\n")
    git(desk, "init", "-q", "-b", "main")
    git(desk, "add", "-A")
    git(desk, "commit", "-q", "-m", "First")
    return desk


def git(desk: Desk, *words: str) -> None:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *words], cwd=desk.workspace.root, check=True)


async def test_git_status_names_branch_and_changes(repository: Desk):
    assert (await repository.call("git_status")).output == "## main\nNothing is changed."
    repository.put("app.py", "two\n")
    repository.put("new.txt", "")
    assert (await repository.call("git_status")).output == "## main\n M app.py\n?? new.txt"


async def test_git_diff_shows_the_working_tree_the_index_or_a_revision(repository: Desk):
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


async def test_git_log_lists_the_newest_first(repository: Desk):
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
async def test_git_tools_name_a_folder_without_a_repository(desk: Desk, tool: str):
    desk.put("docs/a", "")
    result = await desk.call(tool, repository="docs")
    assert (result.failed, result.output) == (True, "The folder docs is in no git repository.")


async def test_git_tools_show_gits_error_for_a_missing_revision(repository: Desk):
    result = await repository.call("git_log", revision="nope")
    assert (result.failed, result.exit_code) == (True, 128)
    assert "nope" in result.output


async def test_git_tools_run_nothing_that_a_repository_configures(repository: Desk):
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


async def test_git_tools_read_a_repository_of_another_user(repository: Desk):
    command = repository.workspace.executed
    await repository.call("git_status")
    assert "safe.directory=*" in (command[-1].argv or ())
