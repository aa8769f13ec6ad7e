"""Lists of allowed commands: whatever a command line would start is in the list, or nothing runs."""

import pytest

from paca import events
from paca.engine.approvals.allowed_commands import CommandList, pattern_problem, refusal
from tests.engine.world import World
from tests.support.model_script import calls, says

LIST = CommandList("agent", ("git", "npm run *", "./run.sh", "find", "ls"))
STARTS_ONLY_LISTED = [
    "ls | xargs",
    "git status",
    "git status && git log",
    "git a; git b\nls",
    "git a & git b",
    "LANG=C git log",
    "git log | git x",
    "echo $(git log)",
    "echo `git log`",
    "(git a; ls)",
    "if git a; then ls; fi",
    'for f in *.py; do git add "$f"; done',
    "bash -c 'git a; ls'",
    'sh -c "git x"',
    "env LANG=C git x",
    "xargs git add",
    "ls | xargs -n1 git add",
    "find . -name '*.py' -exec git add {} \\;",
    "find . -exec git add {} +",
    "eval git status",
    "eval 'git a; ls'",
    "ls 2>/dev/null || true",
    'git commit -m "$(ls)"',
    "npm run build",
    "npm run test -- -x",
    "./run.sh a",
    "/usr/bin/git x",
    "timeout 5 git x",
    "x=5; echo $x",
    "git log > out.txt 2>&1",
    "git commit -F - <<EOF\nhello $(ls)\nEOF\nls",
    "git commit -F - <<'EOF'\n$(evil) `evil`\nEOF\n",
    "[ -f a ] && git a",
    'test "$x" = y',
    "set -euo pipefail; git x",
    "cd a && git b",
    "! git a",
    "{ git a; }",
    "time git x",
    'while read -r x; do git add "$x"; done < <(git ls)',
    "git \\\n  status",
    "git $x",
    "echo 'rm -rf /'",
    "# evil\ngit a",
    "command -v git",
    "git a |& ls",
    "exec git a",
    "export LANG=C; git x",
]
# Each starts ``evil`` in bash, or may: because of what a variable holds, or in a way that is not known for certain.
MAY_START_ANOTHER = [
    "evil",
    "git a && evil",
    "git a; evil",
    "git a\nevil",
    "git a & evil",
    "git a | evil",
    "LD_PRELOAD=x git a",
    "PATH=. git a",
    "PATH=.; git a",
    "https_proxy=http://evil; git a",
    "npm_config_script_shell=evil; git a",
    "for all_proxy in evil; do git a; done",
    "read -r http_proxy; git a",
    "GIT_SSH_COMMAND=evil git fetch",
    "echo $(evil)",
    "echo `evil`",
    'echo "$(evil)"',
    'echo "`evil`"',
    "ls <(evil)",
    "ls > >(evil)",
    "(evil)",
    "{ evil; }",
    "if evil; then ls; fi",
    "git() { evil; }; git",
    "function git { evil; }",
    "alias git=evil",
    "sh -c evil",
    "bash -c 'git a; evil'",
    'sh -c "$x"',
    "env evil",
    "env A=b evil",
    "env LD_PRELOAD=x git",
    "env -S 'evil' x",
    "xargs evil",
    "ls | xargs -I{} {}",
    "xargs -I git git status",
    "xargs env",
    "find . -exec evil {} \\;",
    "find . -exec sh -c 'evil' \\;",
    "find $x",
    "find . -exec env -u + evil \\;",
    "eval evil",
    'eval "$x"',
    "eval $(git log)",
    "git commit -F - <<EOF\n$(evil)\nEOF\n",
    "git <<EOF\n`evil`\nEOF\n",
    "git <<EO\\\nF\n$(evil)\nEOF\nEO\\\nF",
    "bash <<EOF\nevil\nEOF",
    "bash",
    "bash x.sh",
    "sh",
    "./evil",
    "./git",
    "/tmp/git",
    "../../usr/bin/git",
    "./usr/bin/git",
    "$x",
    '"$x" a',
    "e'vi'l",
    "e\\vil",
    'ev""il',
    "$'\\x65vil'",
    "/???/bin/gi?",
    "~/git",
    "{evil,a}",
    "git `",
    "git '",
    'git "',
    "git $(",
    "git )",
    "git <<EOF",
    "$(echo evil)",
    "npm install",
    "npm $x",
    'npm "run"x',
    "sudo git a",
    "nohup evil",
    "nice -n $x git",
    'timeout "5">x evil git',
    "timeout 99>x evil git",
    "nice -n 5 evil",
    "setsid evil",
    "command evil",
    "exec evil",
    "builtin eval evil",
    "source x",
    ". x",
    "trap evil EXIT",
    "[[ -v x ]]",
    "((x))",
    "echo $((x))",
    "echo ${a[$(evil)]}",
    "echo ${x:y}",
    "[ -v 'a[$(evil)]' ]",
    "printf -v 'a[$(evil)]' x",
    "read 'a[$(evil)]'",
    "declare x",
    "let x",
    "unset x",
    "mapfile -C evil x",
    "export PATH=.",
    "x=(a b)",
    "case a in a) evil;; esac",
    "coproc evil",
    "git a\r\nevil",
    "git\x00evil",
    "sh -c 'git a &>x evil'",
    "git $\\\n(evil)",
    "i\\\nf evil; then ls; fi",
    "git <<\\\n-'EOF'\nEOF\nevil\n-EOF\n",
    "env -u 2\\\n>f git evil",
    'git "$\\\n(evil)"',
    "zsh -c 'git'",
    "busybox sh -c git",
    "enable -f x git",
    "hash -p /tmp/evil git",
    "wait -p 'a[$(evil)]'",
    "exec -a x git",
    "bash -c",
    "bash -lc git",
    "bash -c -x git",
    "git/evil",
    ">&x='a[$(evil)]'",
    "git >&'a[$(evil)]'",
    "git () { evil; }",
    "git -- $(",
    "git;;evil",
    "then evil",
    "for x in $(evil); do git; done",
    "for ((i=0;;)); do evil; done",
    "time -p evil",
    "git 2>$(evil)",
]


def test_lists_are_long_enough():
    assert len(set(MAY_START_ANOTHER)) > 120
    assert len(set(STARTS_ONLY_LISTED)) > 45


@pytest.mark.parametrize("line", STARTS_ONLY_LISTED)
def test_line_of_listed_commands_is_allowed(line: str) -> None:
    assert refusal(line, [LIST]) == ""


@pytest.mark.parametrize("line", MAY_START_ANOTHER)
def test_line_that_may_start_another_command_is_refused(line: str) -> None:
    assert refusal(line, [LIST]).startswith("Not run: ")


@pytest.mark.parametrize(
    ("pattern", "line", "allowed"),
    [
        ("git status", "git status", True),
        ("git status", "git status -s", True),
        ("git status", "git push", False),
        ("git status", "git -C x status", False),
        ("git status", "git 'status'", True),
        ("git status", "git $x", False),
        ("git * status", "git $x status", False),
        ("git * status", 'git "$x" status', True),
        ("npm run *", "npm", False),
        ("python3*", "python3.11 x.py", True),
        ("./*.sh", "./a.sh", True),
        ("./*.sh", "./$x.sh", False),
        ("./*.sh", "./a/b.sh", False),
        ("./*/run.sh", "./../run.sh", False),
        ("/usr/bin/git", "git x", False),
        ("bash", "bash x.sh", True),
        ("bash", "bash -c evil", True),
        ("sh", "bash x.sh", False),
        ("xargs", "xargs evil", False),
        ("env", "env evil", False),
        ("env", "env", True),
    ],
)
def test_pattern_is_a_program_with_the_words_that_follow(pattern, line, allowed) -> None:
    assert (refusal(line, [CommandList("agent", (pattern,))]) == "") is allowed


def test_every_list_has_to_allow_a_command_and_an_empty_one_allows_only_the_shells_own() -> None:
    both = [CommandList("project", ("git", "ls")), CommandList("agent", ("git", "make"))]
    assert refusal("git x", both) == ""
    assert "this agent allows" in refusal("ls", both)
    assert "this project allows" in refusal("make", both)
    assert refusal("cd a && echo x > y", [CommandList("agent", ())]) == ""
    assert "allows: none" in refusal("ls", [CommandList("agent", ())])
    assert refusal("evil", []) == ""


def test_refusal_names_the_command_what_is_allowed_and_the_next_step() -> None:
    text = refusal("git log; curl https://example.org", [LIST])
    assert "`curl` with these arguments is not among the allowed commands" in text
    assert "`git`, `npm run *`" in text
    assert "a person can add it to the allowed commands of the agent" in text


def test_deep_and_long_lines_are_refused_and_take_no_time() -> None:
    for line in ("$(" * 5000, "`" * 5001, "(" * 5000, "eval " * 3000, "git " * 60_000):
        assert refusal(line, [LIST]), line[:20]


@pytest.mark.parametrize(
    "pattern", ["", " ", "*", "??", "a;b", "a b  c", "$x", "a\nb", "'a b'", "x" * 201]
)
def test_what_is_no_program_cannot_be_listed(pattern: str) -> None:
    assert pattern_problem(pattern)


# --- in a turn --------------------------------------------------------------------------------------

COMMANDS = {"ls": "a.txt", "rm a.txt": "", "git log": ""}


@pytest.mark.anyio
async def test_command_that_is_not_listed_is_refused_and_nobody_is_asked():
    world = World(
        calls(bash="ls"),
        calls(bash="ls && rm a.txt"),
        says("I may not."),
        approval="unsafe",
        commands=dict(COMMANDS),
        allowed_commands=(LIST,),
    )
    await world.ask("Delete it.")
    assert world.status == "finished/answered"
    assert world.commands == ["ls"]
    assert world.find(events.ApprovalRequested) == []
    assert [each.cause for each in world.results] == ["", "refused"]
    assert "`rm` with these arguments is not among" in world.last_request()


@pytest.mark.anyio
async def test_command_that_a_person_has_changed_must_be_listed_too():
    world = World(
        calls(bash="git log"),
        says("So be it."),
        approval="all",
        commands=dict(COMMANDS),
        allowed_commands=(LIST,),
    )
    await world.ask("Look.")
    await world.decide("approve", arguments={"command": "rm a.txt"})
    assert world.commands == []
    assert [each.cause for each in world.results] == ["refused"]
