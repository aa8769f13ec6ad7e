"""The compressed size of what a page loads."""

import gzip
from collections.abc import Iterable
from pathlib import Path

from paca.web import static_storage
from paca.web.static_storage import STATIC_FOLDER
from tests.web.sources import SHEETS, STATIC

KB = 1024


def compressed_kb(paths: Iterable[Path]) -> float:
    return sum(len(gzip.compress(path.read_bytes(), 6)) for path in paths) / KB


def modules_needed_by(entry: str) -> list[Path]:
    return [STATIC_FOLDER / each for each in static_storage.modules_of(entry)]


def test_style_sheets_stay_within_20_kb() -> None:
    assert compressed_kb(SHEETS) <= 20


def test_modules_of_the_conversation_stay_within_115_kb() -> None:
    """Nothing is minified, so comments and long names count. The first paint needs no module."""
    assert compressed_kb(modules_needed_by("paca/pages/conversation.js")) <= 115


def test_default_page_loads_no_markdown_library() -> None:
    needed = modules_needed_by("paca/pages/default.js")
    assert compressed_kb(needed) <= 25
    assert not [path for path in needed if "marked" in path.name or "purify" in path.name]


def test_highlighter_is_loaded_only_when_code_is_shown() -> None:
    needed = modules_needed_by("paca/pages/conversation.js")
    assert STATIC / "core" / "highlight.js" in needed
    assert not [path for path in needed if "vendor/highlight" in str(path)]


def test_imports_of_page_modules_lead_to_files() -> None:
    entries = [*(STATIC / "pages").glob("*.js"), STATIC / "styleguide" / "page.js"]
    for entry in entries:
        assert all(
            path.is_file() for path in modules_needed_by(str(entry.relative_to(STATIC_FOLDER)))
        )
