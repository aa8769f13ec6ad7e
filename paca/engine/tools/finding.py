"""Which files a tool looks at: globs, and the folders that only machines write to."""

import re
import warnings
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from paca.engine.tools.base import Phrase

# They are looked into only where the path names them.
SKIPPED = (".git", ".paca", "node_modules", ".venv", "__pycache__", ".mypy_cache", ".pytest_cache")
# Lines are UTF-8, whatever the image says.
TEXT_LOCALE = "LC_ALL=C.UTF-8"

_WORDS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|\\.|.", re.DOTALL)
_MEANINGS = {"**/": "(.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def skipped(path: str) -> tuple[str, ...]:
    """The folders to leave out below this path."""
    return tuple(name for name in SKIPPED if name not in path.split("/"))


def start(path: str) -> str:
    """The path as an argument that no program takes for an option."""
    return "." if path == "." else f"./{path}"


def plainly(line: str) -> str:
    """A printed path without what ``start`` put before it."""
    return line.removeprefix("./")


def environment(glob: str | None) -> dict[str, str]:
    """What `find` needs to match names with the glob.

    A name may hold bytes that are no text, and ``*`` should match it all the same: the C locale
    does. Only where the glob counts characters must names be read as text.
    """
    counts = glob is not None and ("?" in glob or "[" in glob)
    return {"LC_ALL": "C.UTF-8" if counts else "C"}


def find(path: str, glob: str | None) -> tuple[str, ...]:
    """The beginning of a `find` command: what matches below ``path``, without skipped folders."""
    names = [word for name in skipped(path) for word in ("-o", "-name", name)][1:]
    words = ["find", start(path), "-type", "d", "(", *names, ")", "-prune", "-o"]
    if glob is not None:
        words += ["-regextype", "posix-extended", "-regex", rf"\./{expression(glob)}"]
    return tuple(words)


def expression(glob: str) -> str:
    """A glob as an expression for whole paths, which `find` and Python read alike.

    As with ripgrep and git, a glob without a slash holds for the name in any folder.
    """
    body = "".join(_pieces(glob.strip("/")))
    return body if "/" in glob.rstrip("/") else f"(.*/)?{body}"


def _pieces(glob: str) -> list[str]:
    braces = {"{": "(", "}": ")"} if glob.count("{") == glob.count("}") else {}
    depth, pieces = 0, []
    for word in _WORDS.findall(glob):
        if word in braces:
            depth += 1 if word == "{" else -1
            pieces.append(braces[word])
        elif word == "," and depth > 0:
            pieces.append("|")
        else:
            pieces.append(_MEANINGS.get(word) or _literal(word))
    return pieces


def _literal(word: str) -> str:
    if word[0] == "[" and len(word) > 1:
        return "[^" + word[2:] if word.startswith("[!") else word
    character = word[-1]
    return f"\\{character}" if character in r".[\()*+?{|^$" else character


def _readable(glob: str) -> str:
    # A class such as [[] is fine in a glob, and Python's fear for its own future is not ours.
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        try:
            re.compile(expression(glob))
        except re.error as error:
            raise ValueError("a glob such as *.py or src/**/*.ts") from error
    return glob


Glob = Annotated[Phrase, StringConstraints(max_length=500), AfterValidator(_readable)]
