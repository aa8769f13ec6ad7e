"""Writes the catalogue of events for people and for the pages, from ``paca.events``.

python scripts/make_events.py           write docs/events.md and paca/web/static/paca/events.json
python scripts/make_events.py --check   exit 1 when one of them is stale
"""

import dataclasses
import inspect
import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from paca.events import EVENT_TYPES, Event  # noqa: E402 - the script runs without an installation

INTRODUCTION = """# Events

Everything that can stand in the log of a conversation or be shown live, made from `paca/events.py`
by `scripts/make_events.py`; a test fails when this page is stale. A frame is
`{type, seq, at, source, turn, data}`; the facts below stand in `data`. Live events are shown and
never stored: their `seq` is null.
"""


def default_of(entry: dataclasses.Field[Any]) -> Any:
    """The default as JSON, or ``...`` for a fact that must be given."""
    if entry.default is not dataclasses.MISSING:
        return entry.default
    if entry.default_factory is not dataclasses.MISSING:
        return entry.default_factory()
    return ...


def described(name: str, cls: type[Event]) -> dict[str, Any]:
    """One type: whether it is stored, what it means, and its facts."""
    facts = []
    for entry in dataclasses.fields(cls):
        kind = entry.type if isinstance(entry.type, str) else inspect.formatannotation(entry.type)
        fact = {"name": entry.name, "type": kind}
        if (default := default_of(entry)) is not ...:
            fact["default"] = default
        facts.append(fact)
    return {
        "type": name,
        "durable": cls.durable,
        "meaning": inspect.cleandoc(cls.__doc__ or ""),
        "facts": facts,
    }


def as_json(types: list[dict[str, Any]]) -> str:
    return json.dumps(types, indent=1) + "\n"


def as_markdown(types: list[dict[str, Any]]) -> str:
    parts = [INTRODUCTION]
    for group, members in groupby(types, key=lambda entry: str(entry["type"]).split(".")[1]):
        parts.append(f"## {group}\n")
        parts += [section(entry) for entry in members]
    return "\n".join(parts)


def section(entry: dict[str, Any]) -> str:
    kept = "" if entry["durable"] else " (live)"
    lines = [f"### {entry['type']}{kept}", "", str(entry["meaning"]), ""]
    for fact in entry["facts"]:
        default = f" = `{json.dumps(fact['default'])}`" if "default" in fact else ""
        lines.append(f"- `{fact['name']}`: {fact['type']}{default}")
    return "\n".join([*lines, ""])


def files() -> dict[Path, str]:
    """What each generated file should hold."""
    types = [described(name, cls) for name, cls in EVENT_TYPES.items()]
    return {
        ROOT / "docs" / "events.md": as_markdown(types),
        ROOT / "paca" / "web" / "static" / "paca" / "events.json": as_json(types),
    }


def main(arguments: list[str]) -> int:
    wanted = files()
    if "--check" in arguments:
        stale = [
            path for path, text in wanted.items() if not path.exists() or path.read_text() != text
        ]
        for path in stale:
            sys.stderr.write(f"{path} is stale: run python scripts/make_events.py\n")
        return 1 if stale else 0
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
