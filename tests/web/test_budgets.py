"""What a page costs to fetch, compressed as it travels."""

import gzip
from collections.abc import Iterable
from pathlib import Path

from paca.web import javascript_modules
from paca.web.static_storage import STATIC_FOLDER
from tests.web.sources import SHEETS, STATIC

KB = 1024


def travels(paths: Iterable[Path]) -> float:
    return sum(len(gzip.compress(path.read_bytes(), 6)) for path in paths) / KB


def needed_by(entry: str) -> list[Path]:
    return [STATIC_FOLDER / each for each in javascript_modules.modules_of(entry)]


def test_the_style_sheets_stay_small() -> None:
    assert travels(SHEETS) <= 20


def test_the_modules_of_the_conversation_stay_small() -> None:
    """Nothing is minified, so this counts comments and long names too; the first paint needs none."""
    assert travels(needed_by("paca/pages/conversation.js")) <= 85


def test_a_plain_page_needs_no_markdown() -> None:
    needed = needed_by("paca/pages/default.js")
    assert travels(needed) <= 25
    assert not [path for path in needed if "marked" in path.name or "purify" in path.name]


def test_colours_for_code_are_fetched_only_when_code_is_shown() -> None:
    needed = needed_by("paca/pages/conversation.js")
    assert STATIC / "core" / "highlight.js" in needed
    assert not [path for path in needed if "vendor/highlight" in str(path)]


def test_every_import_of_a_page_leads_to_a_file() -> None:
    entries = [*(STATIC / "pages").glob("*.js"), STATIC / "styleguide" / "page.js"]
    for entry in entries:
        assert all(path.is_file() for path in needed_by(str(entry.relative_to(STATIC_FOLDER))))
