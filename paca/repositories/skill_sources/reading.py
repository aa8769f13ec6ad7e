"""Finds the skills of a commit: the folders with a ``SKILL.md``, and what a person should know before taking one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from paca.agents import skill_archive
from paca.agents.models import Skill
from paca.agents.models.skill import MAX_CONTENT_CHARACTERS, MAX_PATH_CHARACTERS
from paca.agents.skill_archive import (
    DOCUMENT_NAME,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_TOTAL_BYTES,
    BadSkillArchive,
    UploadedSkill,
)
from paca.agents.skill_document import BadSkillDocument, SkillDocument, parse
from paca.common import validation
from paca.common.errors import Invalid
from paca.common.text import to_storable
from paca.repositories.skill_sources.fetching import Snapshot, TreeEntry

MAX_SKILLS, MAX_READ_BYTES = 100, 16 << 20
MAX_NAMED = 5
# Characters that no page shows: they can hide words from the person and not from the model. Those of emojis are no
# sign of that.
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
LFS = b"version https://git-lfs.github.com/spec/"
PROGRAMS = frozenset({".sh", ".bash", ".py", ".js", ".mjs", ".ts", ".rb", ".pl", ".ps1", ".bat"})


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """A folder with a ``SKILL.md``. ``problem``: why it cannot be taken; ``read`` is None then, and ``text`` is all of its
    ``SKILL.md`` that could be read."""

    folder: str
    entries: tuple[TreeEntry, ...]
    read: UploadedSkill | None
    text: str
    problem: str
    warnings: tuple[str, ...]

    @property
    def document(self) -> SkillDocument:
        """Its document; of one that cannot be read, the name of the folder and the text."""
        if self.read is not None:
            return self.read.document
        return SkillDocument(PurePosixPath(self.folder).name or "skill", "", self.text)


class SkillFolders:
    """Which files belong to which skill: each to the nearest folder above it that has a ``SKILL.md``."""

    def __init__(self, entries: Sequence[TreeEntry], *, below: str = "") -> None:
        prefix = f"{below}/" if below else ""
        inside = [each for each in entries if each.path.startswith(prefix)]
        self.exists = bool(inside) or not below
        documents = {
            _parent(each.path)
            for each in inside
            if PurePosixPath(each.path).name == DOCUMENT_NAME and each.is_file
        }
        # guard: skill-folders-have-short-paths
        documents = {each for each in documents if len(each) <= MAX_PATH_CHARACTERS}
        self._files: dict[str, list[TreeEntry]] = {folder: [] for folder in sorted(documents)}
        for each in inside:
            owner = _owner(each.path, documents)
            if owner is not None and not _is_left_out(each.path):
                self._files[owner].append(each)

    @property
    def names(self) -> list[str]:
        """The folders, sorted."""
        return list(self._files)

    def files_of(self, folder: str) -> list[TreeEntry]:
        """The files of a skill, with its ``SKILL.md``, and links that are not taken."""
        return self._files.get(folder, [])

    def to_read(self, folders: Iterable[str]) -> list[TreeEntry]:
        """The files of these skills, the documents first, as far as they are read."""
        wanted = [self.files_of(folder) for folder in folders]
        wanted = [files for files in wanted if not _limit_problem(files)]
        rows = [each for files in wanted for each in files if each.is_file]
        rows.sort(key=lambda each: PurePosixPath(each.path).name != DOCUMENT_NAME)
        found, left = [], MAX_READ_BYTES
        for each in rows:
            left -= each.size or 0
            # guard: skill-source-read-is-bounded
            if left < 0:
                break
            found.append(each)
        return found


def read_skill(snapshot: Snapshot, folders: SkillFolders, folder: str) -> FoundSkill:
    """One skill of a snapshot, with its problem if it cannot be taken."""
    entries = [each for each in folders.files_of(folder) if each.is_file]
    others = [each for each in folders.files_of(folder) if not each.is_file]
    prefix = f"{folder}/" if folder else ""
    data = {
        each.path.removeprefix(prefix): snapshot.data[each.path]
        for each in entries
        if each.path in snapshot.data
    }
    problem, read, text = _limit_problem(folders.files_of(folder)), None, ""
    document = data.get(DOCUMENT_NAME, b"")
    if not problem and len(data) < len(entries):
        problem = "The skills here are too large to be read together. Name the folder of this one."
    if document:
        text = to_storable(document.decode("utf-8", "replace"))[: MAX_CONTENT_CHARACTERS * 2]
    if not problem:
        try:
            read = _uploaded(data)
        except (BadSkillDocument, BadSkillArchive) as error:
            problem = error.detail
        except Invalid as error:
            problem = " ".join(
                f"{name}: {' '.join(said)}" for name, said in sorted(error.fields.items())
            )
    warnings = tuple(_warnings(entries, others, data, prefix))
    if read is not None:
        warnings = (*_escaped(read.document), *warnings)
    return FoundSkill(folder, tuple(entries), read, text, problem, warnings)


def _uploaded(data: dict[str, bytes]) -> UploadedSkill:
    """The skill with its files. Raises ``Invalid`` if an agent cannot have it."""
    for path in data:
        skill_archive.check_path(path, of="The folder")
    skill_archive.check_no_file_is_a_folder(data)
    document = parse(skill_archive.decode(data[DOCUMENT_NAME]))
    files = {path: each for path, each in sorted(data.items()) if path != DOCUMENT_NAME}
    fields = {
        "name": document.name,
        "description": " ".join(document.description.split()),
        "content": document.content,
        "triggers": list(document.triggers),
    }
    validation.check_fields(Skill(**fields), exclude=("agent",))
    return UploadedSkill(document, files)


def _limit_problem(files: Collection[TreeEntry]) -> str:
    """Why a folder is too large for a skill; empty if it is not."""
    entries = [each for each in files if each.is_file]
    if len(entries) > MAX_FILES + 1:
        return f"The folder has more than {MAX_FILES} files."
    # guard: skill-source-file-size
    large = next(
        (each for each in entries if (each.size or 0) > MAX_FILE_BYTES or each.size is None), None
    )
    if large is not None:
        return f"{shown(large.path)} is larger than {MAX_FILE_BYTES >> 20} MiB."
    if sum(each.size or 0 for each in entries) > MAX_TOTAL_BYTES:
        return f"The files have more than {MAX_TOTAL_BYTES >> 20} MiB together."
    if len({each.path for each in entries}) < len(entries):
        return "The folder has a file twice."
    return ""


def _warnings(
    entries: Sequence[TreeEntry],
    others: Sequence[TreeEntry],
    data: dict[str, bytes],
    prefix: str,
) -> Iterable[str]:
    hidden = {path: found for path, each in data.items() if (found := hidden_characters(each))}
    for path, signs in sorted(hidden.items())[:MAX_NAMED]:
        yield _hidden_warning(shown(path), signs)
    programs = [
        each.path.removeprefix(prefix)
        for each in entries
        if each.mode == "100755" or PurePosixPath(each.path).suffix in PROGRAMS
    ]
    if programs:
        yield f"Programs that the agent can run in its sandbox: {_named(programs)}."
    if pointers := [path for path, each in data.items() if each.startswith(LFS)]:
        yield f"Kept in Git LFS, so only a pointer comes along: {_named(pointers)}."
    if others:
        paths = [each.path.removeprefix(prefix) for each in others]
        yield f"Links and submodules are left out: {_named(paths)}."


def _escaped(document: SkillDocument) -> Iterable[str]:
    """YAML can write any character as an escape of visible ones, so what was read of it is looked at too."""
    signs = _hidden(" ".join((document.description, *document.triggers)))
    if signs:
        yield _hidden_warning("The description or a keyword", signs)


def _hidden_warning(what: str, signs: Sequence[str]) -> str:
    return f"{what} has characters that no page shows ({', '.join(signs)}). They can hide instructions: read it with care."


def hidden_characters(data: bytes) -> list[str]:
    """The code points of characters in a text that no page shows; none for what is no text."""
    try:
        text = data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        return []
    if "\0" in text:
        return []
    return _hidden(text)


def _hidden(text: str) -> list[str]:
    found = dict.fromkeys(f"U+{ord(sign):04X}" for sign in HIDDEN.findall(text))
    return [*found][:MAX_NAMED]


def text_of(data: bytes | None) -> str | None:
    """A file as a text to be shown; None if it is none, or too long."""
    if data is None or len(data) > MAX_CONTENT_CHARACTERS * 2:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def shown(path: str) -> str:
    """A path of others in a sentence."""
    return ascii(path[:80])[1:-1]


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return ", ".join(shown(path) for path in paths[:MAX_NAMED]) + more


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _owner(path: str, documents: Collection[str]) -> str | None:
    """The nearest folder above a file that is one of a skill. A path can have thousands of folders, one of a skill not."""
    folder = _parent(path[: MAX_PATH_CHARACTERS + 1])
    while folder not in documents:
        if not folder:
            return None
        folder = _parent(folder)
    return folder


def _is_left_out(path: str) -> bool:
    """Whether it is a file of git or of an editor's machine, such as ``.gitignore``."""
    return any(
        part.startswith(".git") or part == skill_archive.IGNORED_FILE for part in path.split("/")
    )
