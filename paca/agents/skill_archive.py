"""Reads an uploaded skill: a ``SKILL.md``, or a zip of a folder that holds one and further files."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePosixPath

from paca.agents import skill_document
from paca.agents.models.skill import MAX_PATH_CHARACTERS
from paca.agents.skill_document import BadSkillDocument, SkillDocument
from paca.common.errors import Invalid

DOCUMENT_NAME = "SKILL.md"
MAX_FILES, MAX_DEPTH = 100, 6
MAX_FILE_BYTES, MAX_TOTAL_BYTES = 1 << 20, 4 << 20
# What macOS adds to zips and folders.
IGNORED_FOLDER, IGNORED_FILE = "__MACOSX", ".DS_Store"
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 0x1
# What zipfile raises for damaged archives: ValueError also for names that are not text.
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, NotImplementedError)


class BadSkillArchive(Invalid):
    """This zip cannot be taken as a skill."""

    code = "bad_skill_archive"


@dataclass(frozen=True, slots=True)
class UploadedSkill:
    """A skill as it was uploaded: its ``SKILL.md``, and its other files by path."""

    document: SkillDocument
    files: dict[str, bytes]


def read(data: bytes) -> UploadedSkill:
    """Read an upload, which is a zip if it begins like one, else a ``SKILL.md``.

    Raises ``BadSkillDocument``, or ``BadSkillArchive`` if the zip is damaged, too large, or has names,
    links or methods that are not taken.
    """
    if not data.startswith(b"PK"):
        return UploadedSkill(skill_document.parse(decode(data)), {})
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            files = _read_files(archive)
    except DAMAGED:
        raise BadSkillArchive(
            "The zip is damaged. Make it again and upload it once more."
        ) from None
    files = _below_the_folder(files)
    document = skill_document.parse(decode(files.pop(DOCUMENT_NAME)))
    return UploadedSkill(document, dict(sorted(files.items())))


def decode(data: bytes) -> str:
    """The text of a ``SKILL.md``. Raises ``BadSkillDocument`` if it is none."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise BadSkillDocument("SKILL.md is not text in UTF-8.") from None
    if "\0" in text:
        raise BadSkillDocument("SKILL.md contains a NUL character, so it is not text.")
    return text


def _read_files(archive: zipfile.ZipFile) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    left = MAX_TOTAL_BYTES
    for entry in _wanted(archive):
        path = entry.filename
        if path in files:
            raise BadSkillArchive(f"The zip has {_shown(path)} twice.")
        with archive.open(entry) as opened:
            # Not the size that the zip tells: it may lie.
            content = opened.read(min(MAX_FILE_BYTES, left) + 1)
        if len(content) > MAX_FILE_BYTES:
            raise BadSkillArchive(f"{_shown(path)} is larger than {MAX_FILE_BYTES >> 20} MiB.")
        left -= len(content)
        # guard: skill-archive-size
        if left < 0:
            raise BadSkillArchive(f"The files have more than {MAX_TOTAL_BYTES >> 20} MiB together.")
        files[path] = content
    check_no_file_is_a_folder(files)
    return files


def _wanted(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The files of the zip, after a check of each entry's name and kind."""
    entries = [
        entry
        for entry in archive.infolist()
        if not entry.is_dir()
        and not entry.filename.startswith(f"{IGNORED_FOLDER}/")
        and PurePosixPath(entry.filename).name != IGNORED_FILE
    ]
    if len(entries) > MAX_FILES:
        raise BadSkillArchive(f"The zip has more than {MAX_FILES} files.")
    for entry in entries:
        _check_entry(entry)
    return entries


def check_path(path: str, *, of: str = "The zip") -> None:
    """Raises ``BadSkillArchive`` if a file of a skill cannot have this path below the skill's folder."""
    parts = path.split("/")
    # guard: skill-archive-paths
    if any(part in ("", ".", "..") for part in parts) or "\\" in path or not path.isprintable():
        raise BadSkillArchive(f"{of} has a file with a path that is not taken: {_shown(path)}.")
    if len(path) > MAX_PATH_CHARACTERS or len(parts) > MAX_DEPTH + 1:
        raise BadSkillArchive(f"{of} has a path that is too long or too deep: {_shown(path)}.")


def _check_entry(entry: zipfile.ZipInfo) -> None:
    path = entry.orig_filename
    check_path(path)
    # Later versions of Python take another name for the file from an extra field of the entry.
    # guard: skill-archive-one-name
    if entry.filename != path:
        raise BadSkillArchive(f"The zip gives a file two names: {_shown(path)}.")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    # guard: skill-archive-links
    if kind not in (0, stat.S_IFREG):
        raise BadSkillArchive(f"{_shown(path)} in the zip is a link or no regular file.")
    if entry.flag_bits & ENCRYPTED:
        raise BadSkillArchive("The zip is encrypted. Upload it without a password.")
    if entry.compress_type not in METHODS:
        raise BadSkillArchive(f"{_shown(path)} is compressed by a method that is not taken.")


def check_no_file_is_a_folder(paths: Collection[str]) -> None:
    """Raises ``BadSkillArchive`` if one of the paths is below another."""
    for path in paths:
        for parent in PurePosixPath(path).parents:
            if str(parent) in paths:
                raise BadSkillArchive(f"{_shown(str(parent))} is a file and a folder.")


def _below_the_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files with paths below the folder of ``SKILL.md``: the root, or the only folder in it."""
    if DOCUMENT_NAME in files:
        return files
    top = {path.partition("/")[0] for path in files}
    if len(top) == 1 and f"{(folder := top.pop())}/{DOCUMENT_NAME}" in files:
        return {path.removeprefix(f"{folder}/"): data for path, data in files.items()}
    raise BadSkillArchive(f"The zip has no {DOCUMENT_NAME}, at its top or in its only folder.")


def _shown(path: str) -> str:
    return ascii(path[:80])
