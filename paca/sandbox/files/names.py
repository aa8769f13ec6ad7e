"""Names of files that are safe outside of the sandbox: in archives, and for uploads."""

from __future__ import annotations

import re
import unicodedata

MAX_PART_BYTES = 200
HIDDEN = {
    "Cc",
    "Cf",
    "Cs",
    "Co",
    "Cn",
    "Zl",
    "Zp",
}  # controls, marks that turn text, and what is no character
UNSAFE = re.compile(r'[<>:"|?*\\]')
LEADING_DOTS = re.compile(r"^\.{2,}")
# Windows opens these as devices, with any extension.
DEVICES = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\..*)?", re.IGNORECASE
)
ENDS = ". "  # Windows drops them, so that the name is another one


def safe_part(name: str) -> str:
    """One name of a path without characters that a system or a reader takes for something else; never empty or ``..``."""
    shown = "".join("_" if unicodedata.category(each) in HIDDEN else each for each in name)
    cleaned = UNSAFE.sub("_", shown.replace("/", "_")).strip(" ").rstrip(ENDS)
    cleaned = LEADING_DOTS.sub("_", cleaned)
    if cleaned in ("", "."):
        cleaned = "_"
    if DEVICES.fullmatch(cleaned):
        cleaned = f"_{cleaned}"
    return _cut(cleaned)


def _cut(name: str) -> str:
    stem, dot, extension = name.rpartition(".")
    if len(name.encode()) <= MAX_PART_BYTES:
        return name
    ending = f".{extension}" if dot and stem and len(extension.encode()) <= 16 else ""
    room = MAX_PART_BYTES - len(ending.encode())
    kept = name.removesuffix(ending).encode()[:room].decode(errors="ignore")
    return f"{kept}{ending}".rstrip(ENDS)


class UniqueNames:
    """The names of one archive. Two files whose safe names would be the same get different ones."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers: dict[
            str, int
        ] = {}  # the last number of a name: many files may have the same safe name

    def take(self, path: str) -> str:
        """The safe, relative name for a path that was not taken before."""
        parts = [safe_part(part) for part in path.split("/") if part not in ("", ".")] or ["_"]
        wanted = "/".join(parts)
        first = wanted.casefold()
        number = self._numbers.get(first, 1)
        while wanted.casefold() in self._taken:
            number += 1
            wanted = "/".join([*parts[:-1], f"{number}_{parts[-1]}"])
        self._numbers[first] = number
        self._taken.add(wanted.casefold())
        return wanted
