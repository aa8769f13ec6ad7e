"""The templates, modules and style sheets of the pages, for tests that read them."""

import re
from pathlib import Path

WEB = Path(__file__).resolve().parents[2] / "paca" / "web"
STATIC = WEB / "static" / "paca"
VENDOR = WEB / "static" / "vendor"

TEMPLATES = sorted((WEB / "templates").rglob("*.html"))
MODULES = sorted(STATIC.rglob("*.js"))
SHEETS = sorted(STATIC.glob("*.css"))


def name(path: Path) -> str:
    return str(path.relative_to(WEB))


def without_comments(path: Path) -> str:
    text = path.read_text()
    if path.suffix == ".css":
        return re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"(?m)^\s*//.*$", "", text)
