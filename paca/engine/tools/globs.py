"""Globs and the folders that searches skip, for the tools that find files."""

import re
import unicodedata
import warnings
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from paca.engine.tools.base import NonEmptyText

# Folders of generated files. A search enters one only if its path names it.
SKIPPED = (".git", ".paca", "node_modules", ".venv", "__pycache__", ".mypy_cache", ".pytest_cache")
# Lines are read as UTF-8 whatever the locale of the image is.
TEXT_LOCALE = "LC_ALL=C.UTF-8"

_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|\\.|.", re.DOTALL)
_TRANSLATIONS = {"**/": "(.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def skipped_folders(path: str) -> tuple[str, ...]:
    """The names of folders that a search below ``path`` skips."""
    return tuple(name for name in SKIPPED if name not in path.split("/"))


def as_argument(path: str) -> str:
    """The path as an argument that no program can read as an option."""
    return "." if path == "." else f"./{path}"


def displayed_path(line: str) -> str:
    """A printed path without the prefix of ``as_argument``."""
    return line.removeprefix("./")


def find_environment(glob: str | None) -> dict[str, str]:
    """The environment in which `find` matches names with the glob.

    In the C locale ``*`` also matches names that are not valid text. A glob that counts characters
    (``?`` or ``[``) needs UTF-8 instead.
    """
    counts_characters = glob is not None and ("?" in glob or "[" in glob)
    return {"LC_ALL": "C.UTF-8" if counts_characters else "C"}


def find_command(path: str, glob: str | None) -> tuple[str, ...]:
    """The beginning of a `find` command for matches below ``path``, without the skipped folders."""
    names = [word for name in skipped_folders(path) for word in ("-o", "-name", name)][1:]
    words = ["find", as_argument(path), "-type", "d", "(", *names, ")", "-prune", "-o"]
    if glob is not None:
        words += ["-regextype", "posix-extended", "-regex", rf"\./{glob_to_regex(glob)}"]
    return tuple(words)


def unicode_forms(glob: str) -> tuple[str, ...]:
    """The glob in the Unicode forms that file names use; one glob if they are the same."""
    return tuple(dict.fromkeys(unicodedata.normalize(form, glob) for form in ("NFC", "NFD")))


def glob_to_regex(glob: str) -> str:
    """A regular expression for whole paths, which `find` and Python read in the same way.

    As in ripgrep and git, a glob without a slash matches the name in any folder. A letter with a mark
    matches in both Unicode forms, as one character and as two.
    """
    body = "".join(_translate(unicodedata.normalize("NFC", glob).strip("/")))
    return body if "/" in glob.rstrip("/") else f"(.*/)?{body}"


def _translate(glob: str) -> list[str]:
    braces = {"{": "(", "}": ")"} if glob.count("{") == glob.count("}") else {}
    depth, pieces = 0, []
    for word in _TOKENS.findall(glob):
        if word in braces:
            depth += 1 if word == "{" else -1
            pieces.append(braces[word])
        elif word == "," and depth > 0:
            pieces.append("|")
        else:
            pieces.append(_TRANSLATIONS.get(word) or _escape(word))
    return pieces


def _escape(word: str) -> str:
    if word[0] == "[" and len(word) > 1:
        return "[^" + word[2:] if word.startswith("[!") else word
    character = word[-1]
    decomposed = unicodedata.normalize("NFD", character)
    if decomposed != character:
        return f"({character}|{decomposed})"
    return f"\\{character}" if character in r".[\()*+?{|^$" else character


def _check_glob(glob: str) -> str:
    # A class such as [[] is valid in a glob; Python warns of a future change of its own syntax.
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        try:
            re.compile(glob_to_regex(glob))
        except re.error as error:
            raise ValueError("a glob such as *.py or src/**/*.ts") from error
    return glob


Glob = Annotated[NonEmptyText, StringConstraints(max_length=500), AfterValidator(_check_glob)]
