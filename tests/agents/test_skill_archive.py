"""Uploads of skills: what a SKILL.md and a zip may be, and that no input breaks the server."""

import random
import stat
import zipfile
from contextlib import suppress
from io import BytesIO

import pytest

from paca.agents import catalogue, skill_archive, skill_document
from paca.agents.models.skill import Skill
from paca.common.errors import PacaError

DOCUMENT = b"---\nname: boats\ndescription: Builds boats.\n---\nHow to build boats.\n"


def zipped(
    files: dict[str, bytes], *, mode: int = 0, compress: int = zipfile.ZIP_DEFLATED
) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", compress) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = compress
            entry.external_attr = (mode if name != "SKILL.md" else 0) << 16
            archive.writestr(entry, data)
    return buffer.getvalue()


def refusal(data: bytes) -> str:
    with pytest.raises(PacaError) as refused:
        skill_archive.read(data)
    assert refused.value.status == 400
    return refused.value.detail


def test_document_is_read_with_its_triggers() -> None:
    text = '---\r\nname: a\ndescription: >\n  One\n  two.\ntriggers: [pr, "test case"]\nlicense: MIT\n---\r\nDo.'
    found = skill_document.parse(text)
    assert (found.name, found.description, found.content) == ("a", "One two.", "Do.\n")
    assert found.triggers == ("pr", "test case")
    assert skill_document.parse("---\nname: yes\ndescription: 7\n---\nx").name == "yes"
    assert skill_document.parse(
        "---\nname: a\ndescription: b\ntriggers: c, d\n---\nx"
    ).triggers == (
        "c",
        "d",
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no front matter"),
        ("name: a\ndescription: b\n", "no front matter"),
        ("---\nname: a\n", "has no end"),
        ("---\nname: a\n---\nText", "lacks description"),
        ("---\n---\nText", "has no fields"),
        ("---\nname: a\ndescription: b\n---\n \n", "no text after"),
        ("---\n- a\n- b\n---\nText", "has no fields"),
        ("---\nname: [a]\ndescription: b\n---\nText", "name in the front matter must be a text"),
        ("---\nname: a\nname: b\ndescription: c\n---\nText", "a field twice"),
        ("---\nname: &x a\ndescription: *x\n---\nText", "anchors and aliases"),
        ("---\nname: a\n  b: c: d\n---\nText", "not valid YAML: see line 3"),
        ("---\n" + "[" * 7000 + "\n---\nText", "nested more than 20 deep"),
        ("---\n" + "- " * 3900 + "\n---\nText", "nested more than 20 deep"),
        ("---\na: " + "{b: " * 1900 + "\n---\nText", "nested more than 20 deep"),
        ('---\nname: a\ndescription: "b\\ud800"\n---\nText', "half a character or NUL: see line 3"),
        ('---\nname: a\ntriggers: ["b\\0"]\n---\nText', "half a character or NUL: see line 3"),
        ("---\nname: " + "a" * 9000 + "\n---\nText", "more than 8,000 characters"),
        ("---\nname: !!python/object:os.system a\n---\nText", "lacks description"),
    ],
)
def test_document_that_cannot_be_read_is_refused(text: str, reason: str) -> None:
    assert reason in refusal(text.encode())


def test_document_that_is_no_text_is_refused() -> None:
    assert "not text in UTF-8" in refusal(b"\xff\xfe---")
    assert "NUL" in refusal(DOCUMENT + b"\0")


def test_zip_may_hold_the_files_or_their_folder() -> None:
    files = {"SKILL.md": DOCUMENT, "scripts/build.py": b"print()", "logo.png": b"\x89PNG\0\xff"}
    for folder in ("", "boats/"):
        read = skill_archive.read(zipped({f"{folder}{name}": files[name] for name in files}))
        assert read.document.name == "boats"
        assert read.files == {"logo.png": b"\x89PNG\0\xff", "scripts/build.py": b"print()"}


def test_zip_from_a_mac_loses_what_its_system_adds() -> None:
    files = {"b/SKILL.md": DOCUMENT, "__MACOSX/b/._SKILL.md": b"x", "b/.DS_Store": b"x"}
    assert skill_archive.read(zipped(files)).files == {}


@pytest.mark.parametrize(
    "path",
    [
        "../evil",
        "a/../../evil",
        "/etc/passwd",
        "a//b",
        "./a",
        "a\\..\\b",
        "C:\\x",
        "a\nb",
        "a\u202eb",
    ],
)
def test_zip_with_a_path_that_leads_out_is_refused(path: str) -> None:
    assert "path that is not taken" in refusal(zipped({"SKILL.md": DOCUMENT, path: b"x"}))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_zip_with_a_link_is_refused(kind: int) -> None:
    data = zipped({"SKILL.md": DOCUMENT, "passwd": b"/etc/passwd"}, mode=kind | 0o777)
    assert "is a link or no regular file" in refusal(data)


def test_zip_of_much_data_is_refused() -> None:
    mib = b"\0" * (1 << 20)
    assert "larger than 1 MiB" in refusal(zipped({"SKILL.md": DOCUMENT, "a": mib + b"\0"}))
    four = {f"{number}": mib for number in range(4)}
    assert "more than 4 MiB together" in refusal(zipped({**four, "SKILL.md": DOCUMENT}))
    many = {f"f{number}": b"" for number in range(100)}
    assert "more than 100 files" in refusal(zipped({**many, "SKILL.md": DOCUMENT}))


def test_zip_that_lies_about_its_sizes_is_refused() -> None:
    data = zipped({"SKILL.md": DOCUMENT, "a": b"\0" * (1 << 20)})
    size = (1 << 20).to_bytes(4, "little")
    assert size in data
    assert refusal(data.replace(size, (16).to_bytes(4, "little")))


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a.md": b"x"}, "has no SKILL.md"),
        ({"a/SKILL.md": DOCUMENT, "b/x": b""}, "has no SKILL.md"),
        ({"a/b/SKILL.md": DOCUMENT}, "has no SKILL.md"),
        ({"SKILL.md": DOCUMENT, "a": b"", "a/b": b""}, "is a file and a folder"),
        ({"SKILL.md": DOCUMENT, "1/2/3/4/5/6/7/8": b""}, "too long or too deep"),
        ({"SKILL.md": DOCUMENT, "a" * 201: b""}, "too long or too deep"),
        ({"SKILL.md": b"no front matter"}, "no front matter"),
    ],
)
def test_zip_that_is_no_skill_is_refused(files: dict[str, bytes], reason: str) -> None:
    assert reason in refusal(zipped(files))


def test_zip_with_another_compression_or_a_password_is_refused() -> None:
    data = zipped({"SKILL.md": DOCUMENT}, compress=zipfile.ZIP_LZMA)
    assert "method that is not taken" in refusal(data)
    encrypted = bytearray(zipped({"SKILL.md": DOCUMENT}))
    encrypted[encrypted.rindex(b"PK\x01\x02") + 8] |= 1
    assert "encrypted" in refusal(bytes(encrypted))


def test_no_damaged_zip_breaks_the_reader() -> None:
    """1,000 zips with a few random bytes each: a refusal, or the skill."""
    chance = random.Random(7)
    whole = zipped({"boats/SKILL.md": DOCUMENT, "boats/ünïcode.txt": b"x" * 50})
    for _ in range(1000):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(2, len(data))] = chance.randrange(256)
        cut = chance.randint(2, len(data)) if chance.random() < 0.2 else len(data)
        with suppress(PacaError):
            skill_archive.read(bytes(data[:cut]))


def test_built_in_skills_fit_the_table_and_have_their_triggers() -> None:
    templates = {each.name: each for each in catalogue.skill_templates()}
    assert {name: list(each.triggers) for name, each in templates.items()} == {
        "po-assistant": ["acceptance criteria", "backlog", "roadmap", "groom"],
        "ba": ["requirements", "functional spec", "gap analysis"],
        "developer": ["implement", "fix", "bug", "pr", "test"],
        "manual-tester": ["test case", "test plan", "defect", "regression"],
    }
    for each in templates.values():
        Skill(
            name=each.name,
            description=each.description,
            content=each.content,
            triggers=list(each.triggers),
        ).clean_fields(exclude=["agent"])
        assert 1000 < len(each.content) < 4000  # useful, and affordable


def test_zip_that_gives_a_file_two_names_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # Python 3.13 does this for the extra field 0x7075 of an entry, after it has read the name.
    def decode_extra(entry: zipfile.ZipInfo, *_: object) -> None:
        entry.filename = f"../{entry.orig_filename}"

    data = zipped({"SKILL.md": DOCUMENT, "list.md": b"x"})
    monkeypatch.setattr(zipfile.ZipInfo, "_decodeExtra", decode_extra)
    assert "gives a file two names" in refusal(data)
