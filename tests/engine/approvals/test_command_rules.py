"""The table of rules about commands: its examples, and what cannot be read for certain."""

import pytest

from paca.engine.approvals.command_rules import RULES, scan
from paca.engine.approvals.shell_commands import MAX_CHARACTERS, split

HITS = [(rule.name, example) for rule in RULES for example in rule.hits]
MISSES = [(rule, example) for rule in RULES for example in rule.misses]


def rule_of(text):
    found = scan(text)
    return found and found.rule


@pytest.mark.parametrize(("name", "example"), HITS)
def test_rule_matches_its_examples(name, example):
    assert rule_of(example) == name


@pytest.mark.parametrize(
    ("rule", "example"), MISSES, ids=[f"{rule.name}: {text}" for rule, text in MISSES]
)
def test_rule_leaves_its_counterexamples_alone(rule, example):
    assert not rule.applies(example, split(example))


def test_rules_have_distinct_names_and_say_why():
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.why.endswith(".") and rule.hits and rule.misses for rule in RULES)
    assert [rule.name for rule in RULES if rule.catastrophic] == [
        "delete_everything",
        "destroy_disk",
        "fork_bomb",
        "change_all_permissions",
    ]


@pytest.mark.parametrize(
    "command",
    [
        "ls -la src",
        "cat a.txt | grep -n b | wc -l",
        "git status && git diff HEAD~1; git log --oneline",
        "/usr/bin/head -5 'a b.txt' 2>/dev/null",
        "ls 2>&1 >/dev/null",
        "find . -name '*.py' -type f",
        "# a remark\npwd",
        "echo 'rm -rf / ; $(x)'",
        "python3 --version",
    ],
)
def test_command_that_only_reads_is_harmless(command):
    assert scan(command) is None


@pytest.mark.parametrize(
    "command",
    [
        *(
            "ls > out",
            "./ls",
            "bin/ls",
            "PATH=. ls",
            "X=1",
            "sort -o a b",
            "sort -uo a b",
            "sort --outp=a b",
            "uniq a b",
        ),
        *(
            "git -c core.pager=x log",
            "git diff --output=x",
            "git log --ext",
            "git --exec-path=. status",
            "rg --pre x y",
        ),
        *("date -s x", "hostname evil", "pytest", "make", "", "  ", "nohup ls", "python3 x.py"),
        *("cat /proc/self/environ", "xargs cat", "git branch new", "tee a", "cp a b"),
    ],
)
def test_command_that_may_do_more_asks(command):
    assert scan(command) is not None


@pytest.mark.parametrize(
    "command",
    [
        *(
            "ls $(pwd)",
            "ls `pwd`",
            "(ls)",
            "ls &",
            'echo "a',
            "ls 'a",
            "cat <<E\nx\nE",
            "diff <(ls) x",
        ),
        *("bash -c ls", "echo ${x:-$(ls)}", "cat <<< x"),
    ],
)
def test_line_that_cannot_be_split_for_certain_asks(command):
    assert not split(command).is_certain
    assert scan(command) is not None


@pytest.mark.parametrize(
    "command",
    [
        'echo "<<EOF"\nrm -rf /\nEOF',
        "bash <<EOF\nrm -rf /\nEOF",
        "cat > x <<'E'\nit's\nE\nrm -rf ~",
        'echo "$(rm -rf /)"',
        "timeout 5 nice -n 3 rm -rf /",
        "sudo -u root env X=1 rm -r -f /*",
        "find x | xargs -n 1 rm -rf /",
        "for i in 1; do rm -rf /; done",
        "true || { rm -rf /; }",
        "echo a\\\n; rm -rf \\\n /",
        "sh -c \"bash -c 'rm -rf /'\"",
    ],
)
def test_catastrophe_is_found_inside_other_commands(command):
    assert rule_of(command) == "delete_everything"


def test_text_of_a_here_document_is_no_command():
    assert (
        rule_of("cat > notes.md <<EOF\nNever run rm -rf /\nrm -rf /\nEOF") == "unreadable_command"
    )


@pytest.mark.parametrize("piece", ["<<A\n", "sh ", '"', ":() {", "ls;", "$(", '"$(', "curl|"])
def test_long_command_line_is_read_up_to_a_length_and_then_asks(piece):
    line = piece * (2 * MAX_CHARACTERS // len(piece))
    assert not split(line).is_certain
    assert scan(line) is not None
