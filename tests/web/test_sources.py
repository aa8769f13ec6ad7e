"""Rules for templates, modules and style sheets: those of the policy and our own."""

import json
import re
from pathlib import Path

import pytest

from tests.web.sources import MODULES, SHEETS, STATIC, TEMPLATES, name, without_comments

# The hostile texts of the style guide are what the rest must not be.
MODULES = [path for path in MODULES if path.name != "hostile.js"]
MARKUP = [*TEMPLATES, *MODULES]

MAKES_MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|unsafeHTML|unsafeSVG|document\.write|DOMParser"
    r"|createContextualFragment|setHTMLUnsafe|\beval\(|new Function"
)
# Names of constants that are object literals. A literal that begins with a spread is a copy, no table.
OBJECT_TABLE = re.compile(r"const (\w+) = (?:Object\.freeze\()?\{(?!\s*\.\.\.)")
EXPORTED_TABLES = {
    each
    for path in MODULES
    for each in re.findall(rf"(?m)^export {OBJECT_TABLE.pattern}", without_comments(path))
}
ICON = re.compile(
    r"""{%\s*icon\s+"([\w-]+)"|\bicon\("([\w-]+)"|icon:\s*"([\w-]+)"|iconButton\("([\w-]+)"|(?:#)([\w-]+)"></use>"""
)


def test_sources_are_found() -> None:
    assert len(TEMPLATES) > 15
    assert len(MODULES) > 30
    assert len(SHEETS) == 3


@pytest.mark.parametrize("path", MARKUP, ids=name)
def test_sources_have_no_inline_styles_or_scripts(path: Path) -> None:
    text = without_comments(path)
    assert not re.search(r"""\sstyle\s*=\s*["'$]""", text)
    assert not re.search(r"\son[a-z]+\s*=\s*[\"']", text)
    assert not re.search(r"<script(?![^>]*\ssrc=)[^>]*>", text)
    assert "<style" not in text


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_sources_make_markup_by_lit_html_and_dompurify_only(path: Path) -> None:
    assert not MAKES_MARKUP.search(without_comments(path))


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_templates_escape_everything(path: Path) -> None:
    text = path.read_text()
    assert "|safe" not in text
    assert "autoescape off" not in text


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_forms_send_nothing_in_the_address_before_their_scripts_listen(path: Path) -> None:
    """A form without a method would put what was typed, such as an API key, into the address.

    The words of a search belong there.
    """
    forms = re.findall(r"<form\b[^>]*>", path.read_text())
    safe = re.compile(r'method="(post|dialog)"|method="get"[^>]* role="search"')
    assert [each for each in forms if not safe.search(each)] == []


@pytest.mark.parametrize("path", SHEETS, ids=name)
def test_style_sheets_fetch_nothing_and_use_colours_by_name_only(path: Path) -> None:
    text = without_comments(path)
    assert "http" not in text
    assert "@import" not in text
    if path.name != "tokens.css":
        assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?![\w-]*\s*[{,])", text)
        assert not re.search(r"\b(?:rgb|hsl|oklch)a?\(", text)


def test_icon_sprite_has_exactly_the_icons_that_are_used() -> None:
    there = set(re.findall(r'<symbol id="([\w-]+)"', (STATIC / "icons" / "icons.svg").read_text()))
    text = "\n".join(without_comments(path) for path in MARKUP)
    text += (STATIC.parents[1] / "labels.py").read_text()
    shown = {each for found in ICON.findall(text) for each in found if each}
    assert shown - there == set()
    unused = {each for each in there if not re.search(rf"""["#]{re.escape(each)}["\\]""", text)}
    assert unused == set()


def test_style_sheets_have_no_unused_classes() -> None:
    sheets = "\n".join(without_comments(path) for path in SHEETS)
    declared = set(re.findall(r"\.([a-zA-Z][\w-]*)", re.sub(r"\{[^{}]*\}", "{}", sheets)))
    sources = [*MARKUP, *STATIC.parents[1].rglob("*.py")]
    words = {word for path in sources for word in re.findall(r"[\w-]+", path.read_text())}
    # Names put together from a state: "s-" + status, "is-" + state, "tone-" + number, "notice-" + tone.
    made = re.compile(r"^(?:s|is|tone|notice|sw|hljs)-")
    assert {each for each in declared - words if not made.match(each)} == set()


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_tables_are_not_asked_for_names_of_every_object(path: Path) -> None:
    """``{}["constructor"]`` finds a function. A table is a ``Map``, or asked with ``Object.hasOwn``."""
    text = without_comments(path)
    tables = {*OBJECT_TABLE.findall(text), *EXPORTED_TABLES}
    asked = [
        found[0]
        for found in re.finditer(r"(?<![\w.])(\w+)(?:\?\.)?\[(?![\"'\d\]])([^\]]*)\]", text)
        if found[1] in tables and f"Object.hasOwn({found[1]}, {found[2]})" not in text
    ]
    assert asked == []


def test_events_json_lists_the_event_catalogue() -> None:
    from paca.events import EVENT_TYPES

    listed = json.loads((STATIC / "events.json").read_text())
    assert set(listed) == set(EVENT_TYPES)
