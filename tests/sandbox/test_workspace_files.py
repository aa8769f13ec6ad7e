"""What people see of the files in a sandbox: lists, previews, changes, diffs, downloads and uploads."""

import pytest

from paca.engine.workspace import NoSuchFile, NotAFile, OutsideWorkspace, WorkspaceError
from paca.sandbox.files import client
from tests.sandbox.conftest import SandboxHandle

GIT = "git -c user.name=a -c user.email=a@b -c init.defaultBranch=main"


async def ask(handle: SandboxHandle, op: str, **fields):
    return await client.ask(handle.sandbox, op, **fields)


async def names(handle: SandboxHandle, path: str = ".") -> list[str]:
    return [entry[0] for entry in (await ask(handle, "list", path=path))["entries"]]


async def changes(handle: SandboxHandle, base: str = "start", **fields) -> dict[str, str]:
    found = await ask(handle, "changes", base=base, **fields)
    return {each["path"]: each["change"] for each in found["entries"]}


@pytest.fixture
async def with_git(handle: SandboxHandle) -> SandboxHandle:
    """A sandbox with Git, which the images of Paca have, and a lean one for tests may lack."""
    if not (await handle.bash("command -v git")).output.strip():
        pytest.skip("The sandbox image has no Git.")
    return handle


async def test_list_shows_folders_first_and_tells_kinds_and_sizes(handle):
    await handle.bash("mkdir b; echo 12345 > a.txt; ln -s a.txt link; mkfifo pipe; mkdir .paca")
    found = await ask(handle, "list", path=".")
    assert [entry[:3] for entry in found["entries"]] == [
        ["b", "folder", found["entries"][0][2]],
        ["a.txt", "file", 6],
        ["link", "link", 5],
        ["pipe", "other", 0],
    ]


async def test_list_of_ten_thousand_files_comes_whole_and_in_order(handle):
    await handle.bash("mkdir many; cd many; touch $(seq -f 'f%05g' 10000)")
    found = await ask(handle, "list", path="many")
    assert found["total"] == 10_000
    assert [entry[0] for entry in found["entries"]] == [f"f{n:05}" for n in range(1, 10_001)]
    rest = await ask(handle, "list", path="many", offset=9_998)
    assert len(rest["entries"]) == 2


@pytest.mark.parametrize("path", ["src/a ü.py", "./src/../src/a ü.py", "/workspace/src/a ü.py"])
async def test_every_spelling_of_a_path_shows_the_same_file(handle, path):
    await handle.bash("mkdir src; echo hello > 'src/a ü.py'")
    found = await ask(handle, "show", path=path)
    assert (found["path"], found["kind"], found["text"]) == ("src/a ü.py", "text", "hello\n")


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "out", "out/passwd"])
async def test_paths_out_of_the_workspace_are_refused_as_such(handle, path):
    await handle.bash("ln -s /etc out")
    for op in ("show", "list", "download", "archive"):
        with pytest.raises(OutsideWorkspace):
            await ask(handle, op, path=path)


async def test_strange_names_are_shown_and_open_their_file(handle):
    await handle.bash(
        "printf one > $'new\\nline'; printf two > $'bad\\xff'; printf three > $'‮txt.exe'"
    )
    assert set(await names(handle)) == {"new\nline", "bad�", "‮txt.exe"}
    for name, text in (("new\nline", "one"), ("bad�", "two"), ("‮txt.exe", "three")):
        assert (await ask(handle, "show", path=name))["text"] == text


async def test_binary_files_are_told_with_type_and_size(handle):
    await handle.bash(
        "printf '%%PDF-1.7' > a.pdf; printf '\\x89PNG\\r\\n\\x1a\\n0' > a.png; printf '\\x1f\\x8b0' > a.gz;"
        " : > empty; truncate -s 1G sparse; mkdir folder; mkfifo pipe; printf '<svg/>' > a.svg"
    )
    kinds = {}
    for name in ("a.pdf", "a.png", "a.gz", "empty", "sparse", "folder", "a.svg"):
        found = await ask(handle, "show", path=name)
        kinds[name] = (found["kind"], found.get("type", ""), found["size"])
    assert kinds["a.pdf"] == ("binary", "PDF", 8)
    assert kinds["a.png"] == ("image", "PNG image", 9)
    assert kinds["a.gz"] == ("binary", "gzip archive", 3)
    assert kinds["empty"] == ("text", "", 0)
    assert kinds["sparse"][::2] == ("binary", 1 << 30)
    assert kinds["folder"][0] == "folder"
    assert kinds["a.svg"][0] == "text"
    with pytest.raises(NotAFile):
        await ask(handle, "show", path="pipe")


async def test_long_texts_and_long_lines_are_cut(handle):
    await handle.bash(
        "yes 0123456789 | head -100000 > long; head -c 100000 /dev/zero | tr '\\0' x > line"
    )
    long = await ask(handle, "show", path="long")
    assert long["cut"]
    assert long["text"].count("\n") == 9_999
    assert len((await ask(handle, "show", path="line"))["text"]) == 4_001


async def test_every_file_of_a_conversation_is_new_and_tools_folders_are_collapsed(handle):
    await handle.bash(
        "mkdir -p app/node_modules/x; echo a > app/a.js; echo b > app/node_modules/x/b.js"
    )
    found = await ask(handle, "changes", base="start")
    assert [(e["path"], e["change"], e["added"]) for e in found["entries"]] == [
        ("app/a.js", "added", 1)
    ]
    assert found["collapsed"] == ["app/node_modules"]


async def test_changes_of_a_clone_count_from_the_cloned_commit_also_by_commands(with_git):
    handle = with_git
    await handle.bash(
        f"mkdir /tmp/o; cd /tmp/o; {GIT} init -q; printf 'one\\ntwo\\n' > kept; cp kept changed; cp kept gone;"
        f" printf 'x' > mode; ln -s kept link; mkdir d; echo y > d/deep; git add .; {GIT} commit -qm 1"
    )
    done = await handle.bash(
        f"{GIT} clone -q /tmp/o r && cd r && printf 'one\\nTWO\\n' > changed && rm -r gone d && chmod +x mode"
        f" && echo n > new && {GIT} commit -qam later && echo 1 >> new; touch kept; ls"
    )
    assert "changed" in done.output, done.output
    found = await ask(handle, "changes", base="start")
    assert {each["path"]: each["change"] for each in found["entries"]} == {
        "r/changed": "changed",
        "r/d/deep": "deleted",
        "r/gone": "deleted",
        "r/mode": "changed",
        "r/new": "added",
    }
    assert found["repositories"][0]["branch"] == "main"
    counted = {each["path"]: (each["added"], each["removed"]) for each in found["entries"]}
    assert counted["r/changed"] == (1, 1)
    diff = await ask(handle, "diff", path="r/changed", base="start")
    assert diff["diff"] == "@@ -1,2 +1,2 @@\n one\n-two\n+TWO"
    gone = await ask(handle, "diff", path="r/d/deep", base="start")
    assert (gone["change"], gone["diff"]) == ("deleted", "@@ -1 +0,0 @@\n-y")


async def test_changes_against_the_base_branch_begin_where_the_work_left_it(with_git):
    handle = with_git
    await handle.bash(
        f"mkdir /tmp/o; cd /tmp/o; {GIT} init -q; echo 1 > a; git add .; {GIT} commit -qm 1"
    )
    await handle.bash(
        f"{GIT} clone -q /tmp/o r; cd r; {GIT} checkout -qb work; echo 2 > b; git add .; {GIT} commit -qm 2"
    )
    assert await changes(handle, "branch") == {"r/b": "added"}


async def test_configuration_and_index_of_the_agent_hide_no_change(with_git):
    handle = with_git
    await handle.bash(
        f"mkdir /tmp/o; cd /tmp/o; {GIT} init -q; echo 1 > a; echo 1 > b; git add .; {GIT} commit -qm 1;"
        f" cd /workspace; {GIT} clone -q /tmp/o r; cd r; echo 2 > a; echo 2 > b;"
        " git update-index --assume-unchanged a; echo '* -diff' > .git/info/attributes;"
        " git config diff.external true; git config core.fsmonitor true; git config core.worktree /tmp;"
        " git replace -f HEAD:a $(git hash-object -w a)"
    )
    assert await changes(handle) == {"r/a": "changed", "r/b": "changed"}
    assert "+2" in (await ask(handle, "diff", path="r/a", base="start"))["diff"]


async def test_commit_that_the_repository_does_not_have_is_told(with_git):
    handle = with_git
    await handle.bash(f"{GIT} init -q r; echo 1 > r/a")
    found = await ask(handle, "changes", base="start", commits={"r": "0" * 40})
    assert "is not in this repository" in found["repositories"][0]["problem"]
    found = await ask(handle, "changes", base="branch")
    assert "no base branch" in found["repositories"][0]["problem"]


async def test_files_of_the_start_are_no_change_of_a_fork(handle):
    await handle.bash("echo 1 > old; sleep 0.05; date +%s.%N > stamp; sleep 0.05; echo 1 > new")
    since = float((await ask(handle, "show", path="stamp"))["text"])
    assert "old" not in await changes(handle, since=since)
    assert "new" in await changes(handle, since=since)


async def collect(handle: SandboxHandle, op: str, **fields):
    answers, data = [], []
    async with client.asking(handle.sandbox, op, **fields) as reply:
        while not answers or "end" not in answers[-1]:
            found = await reply.next()
            if isinstance(found, bytes):
                data.append(found)
            else:
                answers.append(found)
    return answers, b"".join(data)


async def test_download_sends_every_byte(handle):
    await handle.bash("head -c 1000000 /dev/urandom > r; sha256sum r > s")
    answers, data = await collect(handle, "download", path="r")
    assert answers[0]["size"] == len(data) == 1_000_000
    assert answers[-1]["sent"] == 1_000_000


async def test_archive_follows_no_link_and_tells_what_it_left_out(handle):
    await handle.bash(
        "mkdir -p d/node_modules; echo 1 > d/a; ln -s /etc/passwd d/secret; ln -s .. d/up; mkfifo d/p;"
        " ln d/a d/hard; echo 2 > d/node_modules/x"
    )
    answers, data = await collect(handle, "archive", path="d")
    assert [each["path"] for each in answers[:-1]] == ["a", "hard"]
    assert data == b"1\n1\n"
    assert sorted(answers[-1]["left_out"]) == ["p", "secret", "up"]
    assert answers[-1]["collapsed"] == ["node_modules"]
    with pytest.raises(NotAFile, match="not a folder"):
        await collect(handle, "archive", path="d/a")


async def upload(handle: SandboxHandle, name: str, data: bytes, folder: str = "."):
    async def body():
        yield data

    async with client.asking(
        handle.sandbox, "upload", body=body(), folder=folder, name=name, size=len(data)
    ) as reply:
        return await reply.answer()


async def test_upload_never_replaces_a_file_and_a_repeat_is_the_same_file(handle):
    assert (await upload(handle, "a.txt", b"one"))["path"] == "a.txt"
    assert (await upload(handle, "a.txt", b"one"))["path"] == "a.txt"
    assert (await upload(handle, "a.txt", b"two", "sub/x"))["path"] == "sub/x/a.txt"
    assert (await upload(handle, "a.txt", b"two"))["path"] == "a (2).txt"
    assert sorted(await names(handle)) == ["a (2).txt", "a.txt", "sub"]


async def test_upload_through_a_link_stays_in_the_workspace(handle):
    await handle.bash("ln -s /tmp out; ln -s /tmp/evil a.txt")
    with pytest.raises(OutsideWorkspace):
        await upload(handle, "x", b"1", "out")
    assert (await upload(handle, "a.txt", b"1"))["path"] == "a (2).txt"


async def test_upload_to_a_full_workspace_leaves_nothing(open_sandbox):
    handle = await open_sandbox(workspace_mib=16)
    with pytest.raises(WorkspaceError):
        await upload(handle, "big", b"x" * (20 << 20))
    assert await names(handle) == []


async def test_missing_file_and_folder_are_told(handle):
    for op in ("show", "list", "download", "diff"):
        with pytest.raises(NoSuchFile):
            await ask(handle, op, path="missing", base="start")
