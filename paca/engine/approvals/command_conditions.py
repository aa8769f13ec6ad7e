"""The conditions of the rules about shell commands: each looks at one command, or at the whole line."""

from __future__ import annotations

import re

from paca.engine.approvals.shell_commands import SHELLS, ShellCommand

MANY_FILES = re.compile(
    r"(/+\*?|(/+\.{1,2})+/*\*?|(\.\./)+(\.\.)?\*?|~/?\*?|\$\{?HOME\}?/?\*?|/workspace/?\*?|\$\{?\w+\}?/\*?|/(etc|usr|bin|lib|var|home|root|opt|boot|dev)/?\*?)"
)
HERE = re.compile(r"\.{1,2}/?|(\./)?\*|\./\.\*|\.\[\^\.\]\*|\$PWD/?\*?")
# Bounded everywhere: a command line may have a million characters.
FORK_BOMB = re.compile(
    r"(?<![\w:])([\w:]{1,40})[ \t]{0,9}\(\)\s{0,9}\{[^}]{0,200}?(?<![\w:])\1\s{0,9}\|\s{0,9}\1\s{0,9}&"
)
DISK = re.compile(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|loop|dm-|mapper)\w*")
SECRET_FILES = re.compile(
    r"(^|/|~|=|@)(\.ssh(/|$)|id_(rsa|ed25519|ecdsa)|\.aws(/|$)|\.netrc|\.pgpass|\.git-credentials|\.npmrc|\.pypirc"
    r"|\.docker/config\.json|\.kube(/|$)|\.gnupg(/|$)|\.config/(gh|gcloud)(/|$)|\.env(\.\w+)?$)|^/etc/g?shadow"
    r"|/proc/[^/]+/environ|\.pem$|\.p12$"
)
HIDDEN_FILES = re.compile(r"(^|/)\.[^/.]{0,100}[*?\[{]")  # a pattern may name any of them
DOWNLOADERS = frozenset({"curl", "wget", "fetch", "aria2c", "http"})
INTERPRETERS = SHELLS | {
    *("python", "python3", "node", "perl", "ruby", "php", "deno", "bun", "source", "."),
}
FETCH_INSIDE = re.compile(
    r"(?:\b(?:ba|z|da|k)?sh|\bpython3?|\bnode|\bperl|\bruby|\beval|\bsource|(?:^|\s)\.(?=\s))[^\n;|]{0,200}(?:<\(|\$\(|`)\s{0,9}(?:curl|wget)\b"
)
UPLOADERS = frozenset({"scp", "sftp", "ftp", "nc", "ncat", "netcat", "socat", "telnet", "ssh"})
PACKAGE_ACTIONS: dict[str, frozenset[str]] = {
    "npm": frozenset(
        [
            "install",
            "i",
            "ci",
            "add",
            "run",
            "run-script",
            "exec",
            "start",
            "test",
            "x",
            "init",
            "update",
        ]
    ),
    "pnpm": frozenset(["install", "i", "add", "run", "exec", "dlx", "start", "test", "up"]),
    "yarn": frozenset(),
    "bun": frozenset(["install", "add", "run", "x"]),
    "pip": frozenset({"install", "download", "wheel"}),
    "pip3": frozenset({"install", "download", "wheel"}),
    "uv": frozenset(["add", "pip", "run", "sync", "tool"]),
    "poetry": frozenset(["add", "install", "run", "update"]),
    "pipx": frozenset({"install", "run"}),
    "gem": frozenset({"install", "update"}),
    "bundle": frozenset({"install", "exec", "update"}),
    "cargo": frozenset(["install", "build", "run", "test", "add"]),
    "go": frozenset(["get", "install", "run", "generate"]),
    "composer": frozenset(["install", "require", "update", "run"]),
    "apt": frozenset({"install", "remove", "upgrade"}),
    "apt-get": frozenset({"install", "remove", "upgrade", "dist-upgrade"}),
    "apk": frozenset({"add", "del"}),
    "dnf": frozenset({"install", "remove"}),
    "yum": frozenset({"install", "remove"}),
    "brew": frozenset({"install", "uninstall"}),
}
PUBLISHERS = {
    *(("npm", "publish"), ("pnpm", "publish"), ("yarn", "publish"), ("twine", "upload")),
    *(("cargo", "publish"), ("gem", "push"), ("docker", "push"), ("poetry", "publish")),
    *(("uv", "publish"), ("gh", "pr"), ("gh", "release"), ("gh", "api"), ("glab", "mr")),
}
HISTORY_ACTIONS = frozenset({"rebase", "filter-branch", "filter-repo", "update-ref", "replace"})


def is_fork_bomb(text: str) -> bool:
    """Whether the line defines a function that starts itself twice."""
    return FORK_BOMB.search(text) is not None


def runs_a_substituted_download(text: str) -> bool:
    """Whether the line gives a shell or another interpreter what a download prints."""
    return FETCH_INSIDE.search(text) is not None


def _subcommand(command: ShellCommand) -> str:
    """The first word of git and its like that is no option."""
    words = list(command.arguments)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("-C", "-c", "--git-dir", "--work-tree") and words:
            words.pop(0)
    return words[0] if words else ""


def _names_many_files(command: ShellCommand) -> bool:
    return any(
        MANY_FILES.fullmatch(word) or (not command.moved and HERE.fullmatch(word))
        for word in command.operands
    )


def deletes_everything(command: ShellCommand) -> bool:
    """Whether it deletes all files of the workspace, of a home folder or of the system."""
    if command.program == "rm":
        return command.has_option("rR", "--recursive") and _names_many_files(command)
    if command.program == "find":
        deletes = {"-delete", "rm"} & set(command.words) or {"-exec", "-execdir"} & set(
            command.words
        )
        starts = command.operands[:1]
        filters = {"-name", "-iname", "-path", "-type", "-mtime", "-empty", "-regex"}
        everything = not filters & set(command.words)
        return bool(deletes) and everything and any(map(MANY_FILES.fullmatch, starts or ("/",)))
    return False


def destroys_a_disk(command: ShellCommand) -> bool:
    """Whether it overwrites a disk or a file system."""
    if command.program.startswith("mkfs") or command.program in ("wipefs", "fdisk", "parted"):
        return True
    targets = [word.removeprefix("of=") for word in command.arguments if word.startswith("of=")]
    if command.program == "shred":
        targets += command.operands
    return any(map(DISK.match, (*targets, *command.writes)))


def changes_all_permissions(command: ShellCommand) -> bool:
    """Whether it changes the owner or the permissions of all files."""
    changes = command.program in ("chmod", "chown", "chgrp")
    return changes and command.has_option("R", "--recursive") and _names_many_files(command)


def fetches_and_runs(command: ShellCommand) -> bool:
    """Whether it downloads code into a program that runs it."""
    return command.program in DOWNLOADERS and command.pipes_into in INTERPRETERS


def runs_what_it_decodes(command: ShellCommand) -> bool:
    """Whether it decodes text into a program that runs it."""
    decodes = command.program in ("base64", "xxd", "openssl", "gunzip", "gzip", "zcat")
    return decodes and command.pipes_into in INTERPRETERS


def reads_credentials(command: ShellCommand) -> bool:
    """Whether it names a file of keys or passwords, or prints the environment."""
    if command.program in ("printenv", "env") or (
        command.wrapped_by[-1:] == ("env",) and not command.words
    ):
        return True
    if command.words[:3] in (("gh", "auth", "token"), ("git", "credential", "fill")):
        return True
    return any(
        SECRET_FILES.search(word) or HIDDEN_FILES.search(word)
        for word in (*command.arguments, *command.writes)
    )


def pushes(command: ShellCommand) -> bool:
    """Whether it sends commits away."""
    return command.program == "git" and _subcommand(command) in ("push", "send-email")


def publishes(command: ShellCommand) -> bool:
    """Whether it publishes a package, an image or a pull request."""
    return (command.program, _subcommand(command)) in PUBLISHERS


def uploads(command: ShellCommand) -> bool:
    """Whether it sends data to another machine."""
    if command.program in UPLOADERS:
        return True
    if command.program == "rsync":
        return any(":" in word for word in command.operands)
    if command.program == "wget":
        return command.has_option("", "--post-data", "--post-file", "--method", "--body-file")
    sends = ("--data", "--data-raw", "--data-binary", "--form", "--upload-file", "--request")
    return command.program == "curl" and command.has_option("dFTX", *sends)


def runs_package_scripts(command: ShellCommand) -> bool:
    """Whether it installs packages or runs scripts of the project."""
    program = command.program
    if program in ("npx", "pnpx", "bunx", "uvx", "yarn"):
        return True
    if command.words[1:3] == ("-m", "pip") and program.startswith("python"):
        return "install" in command.words
    return _subcommand(command) in PACKAGE_ACTIONS.get(program, ())


def rewrites_history(command: ShellCommand) -> bool:
    """Whether it throws away commits or changes."""
    if command.program != "git":
        return False
    action = _subcommand(command)
    if action in HISTORY_ACTIONS:
        return True
    drops = action == "stash" and bool({"drop", "clear"} & set(command.words))
    discards = action in ("checkout", "restore") and bool({"--", "."} & set(command.words))
    return (
        drops
        or discards
        or (action == "reset" and command.has_option("", "--hard", "--merge"))
        or (action == "clean" and command.has_option("fxd", "--force"))
        or (action == "branch" and command.has_option("D"))
    )


def takes_other_rights(command: ShellCommand) -> bool:
    """Whether it runs as another user, or changes what the system mounts."""
    return bool({"sudo", "doas"} & set(command.wrapped_by)) or command.program in (
        *("su", "chroot", "mount", "umount", "unshare", "nsenter", "setcap", "insmod", "sysctl"),
    )


def deletes_files(command: ShellCommand) -> bool:
    """Whether it deletes any file."""
    if command.program == "find":
        return bool({"-delete", "-exec", "-execdir", "-ok"} & set(command.words))
    return command.program in ("rm", "rmdir", "unlink", "shred", "truncate")


def stays_after_the_turn(command: ShellCommand) -> bool:
    """Whether it starts something that goes on after the command."""
    if command.program in ("crontab", "at", "systemctl", "service", "screen", "tmux"):
        return True
    profile = re.compile(r"(^|/)\.(bashrc|bash_profile|profile|zshrc)$|\.git/hooks/")
    return any(map(profile.search, (*command.writes, *command.operands)))


def runs_given_code(command: ShellCommand) -> bool:
    """Whether it runs code that stands in its arguments."""
    inline = command.program in INTERPRETERS - SHELLS and command.has_option("ec", "--eval")
    return inline or command.program == "eval"
