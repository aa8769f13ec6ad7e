"""Commands that only read: they run without a yes where unsafe ones ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from paca.engine.approvals.shell_commands import ShellCommand

SYSTEM_FOLDERS = ("", "/bin/", "/usr/bin/", "/usr/local/bin/")
# Programs that only read, with the options that make them write or run something.
READERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            *("ls", "cat", "head", "tail", "wc", "grep", "egrep", "fgrep", "pwd", "echo", "printf"),
            *("whoami", "id", "uname", "which", "type", "stat", "du", "df", "cut", "tr", "nl"),
            *("diff", "cmp", "md5sum", "sha1sum", "sha256sum", "basename", "dirname", "realpath"),
            *("readlink", "true", "false", "test", "[", "sleep", "seq", "jq", "column", "cd", "ps"),
            *("free", "uptime", "nproc", "tac", "rev", "comm", "join", "paste", "od", "strings"),
        ),
        (),
    ),
    "date": ("-s", "--set"),
    "file": ("-C", "--compile"),
    "sort": ("-o", "--output", "-T", "--temporary-directory", "--compress-program"),
    "tree": ("-o",),
    "rg": ("--pre", "--hostname-bin"),
    "find": (
        "-delete",
        "-exec",
        "-execdir",
        "-ok",
        "-okdir",
        "-fprint",
        "-fprint0",
        "-fprintf",
        "-fls",
    ),
}
GIT_READERS = frozenset(
    [
        "status",
        "log",
        "diff",
        "show",
        "ls-files",
        "blame",
        "rev-parse",
        "describe",
        "shortlog",
        "grep",
        "cat-file",
        "ls-tree",
    ]
)
GIT_RUNS = ("--output", "--ext-diff", "--textconv", "--open-files-in-pager", "-O")
VERSION_OPTIONS = ({"--version"}, {"-V"}, {"--help"})
ASKS_FOR_VERSION = frozenset(
    [
        "python",
        "python3",
        "node",
        "npm",
        "npx",
        "pip",
        "pip3",
        "git",
        "go",
        "cargo",
        "rustc",
        "ruby",
        "java",
        "make",
        "gcc",
        "bash",
        "uv",
    ]
)


def are_harmless(commands: Iterable[ShellCommand]) -> bool:
    """Whether all of these only read, and there is at least one."""
    found = list(commands)
    return bool(found) and all(map(_is_harmless, found))


def _is_harmless(command: ShellCommand) -> bool:
    if command.writes or command.assigns or command.wrapped_by or not command.words:
        return False
    if command.words[0].removesuffix(command.program) not in SYSTEM_FOLDERS:
        return False  # a program of that name may lie in the workspace
    special = SPECIAL.get(command.program)
    if special is not None:
        return special(command)
    if command.program in ASKS_FOR_VERSION:
        return set(command.arguments) in VERSION_OPTIONS
    options = READERS.get(command.program)
    return options is not None and not _has_any(command, options)


def _has_any(command: ShellCommand, options: Iterable[str]) -> bool:
    """Whether an argument is one of the options, also shortened, with a value or within a group of letters."""
    return any(_is_option(word, option) for option in options for word in command.arguments)


def _is_option(word: str, option: str) -> bool:
    name = word.partition("=")[0]
    if option.startswith("--"):
        return len(name) > len("--") and option.startswith(name)
    is_group = word.startswith("-") and not word.startswith("--")
    return name == option or (len(option) == len("-o") and is_group and option[1] in word)


def _git_reads(command: ShellCommand) -> bool:
    """Whether git only reads. An option before the subcommand may set what git runs."""
    words = command.arguments
    if set(words) in VERSION_OPTIONS:
        return True
    if not words or _has_any(command, GIT_RUNS):
        return False
    listing = {("branch",), ("branch", "-a"), ("branch", "--list"), ("tag",), ("tag", "-l")}
    listing |= {("remote",), ("remote", "-v"), ("stash", "list"), ("worktree", "list")}
    return words[0] in GIT_READERS or tuple(words) in listing


def _uniq_reads(command: ShellCommand) -> bool:
    return len(command.operands) <= 1  # a second file is written


def _shows_hostname(command: ShellCommand) -> bool:
    return not command.arguments


SPECIAL: dict[str, Callable[[ShellCommand], bool]] = {
    "git": _git_reads,
    "uniq": _uniq_reads,
    "hostname": _shows_hostname,
}
