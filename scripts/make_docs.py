"""Writes the pages of docs/ and the tables for the browser that are generated from the code.

`make docs` writes them; with --check nothing is written and a stale page is an error.
"""

import dataclasses
import importlib
import json
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "paca.settings")

CONFIGURATION_HEAD = """\
# Configuration

Generated from `paca/settings.py` by `make docs`; change the text there.

Every setting is an environment variable, and Paca starts without any. A wrong value stops the start with an error
that names the variable.

| Variable | Default | Meaning |
|---|---|---|
"""

CONFIGURATION_TAIL = """
## Settings of related systems that Paca does not have

| Setting | Why Paca does not have it |
|---|---|
| a range of ports for sandboxes | Paca publishes no port: the worker talks to a sandbox through a private pipe |
| tokens and addresses between services | the parts share one process or one database, and do not call each other by HTTP |
| a command to start instead of the agent server | the program inside a sandbox is Paca's own runner |
"""

EVENTS_HEAD = """\
# Events

Generated from `paca/events.py` by `make docs`; change the text there.

Everything that happens in a conversation is an event: a type and facts. A *stored* event is a row of the
conversation's log with a number (`seq`). A *live* event is shown to open pages and never stored. An event has
the same type in the log, in frames of the socket, in the API and in the page.

Programs find the types of all facts as JSON Schema in [events.schema.json](events.schema.json), and at
`GET /api/v1/events/schema/` without signing in.

"""


ERRORS_HEAD = """\
# Error codes

Generated from the error classes by `make docs`; change the text there.

Every error of the API is `{code, detail, fields?, request_id}`. A program reads `code`, which never changes its
meaning; `detail` is one sentence for people and may say more than this table. `fields` names what is wrong with each
field of the request. Error frames of the sockets have the same codes. All addresses and objects stand in
[openapi.json](openapi.json), and at `GET /api/v1/schema/`.

| Code | Status | Meaning |
|---|---|---|
"""

RUN_ERRORS_HEAD = """
## Errors of models, tools and sandboxes

They end or delay a turn, or are the result of a call. Events of the conversation tell them, not the API.

| Code | Meaning |
|---|---|
"""


def configuration() -> str:
    import paca.settings  # noqa: F401 - reading the settings is what fills the list
    from paca.env import VARIABLES

    rows = []
    for variable in sorted(VARIABLES.values(), key=lambda each: each.name):
        name = f"`{variable.name}`"
        if variable.aliases:
            name += f" (also {', '.join(f'`{alias}`' for alias in variable.aliases)})"
        default = f"`{variable.default}`" if variable.default else "empty"
        rows.append(f"| {name} | {default} | {variable.meaning} |\n")
    return CONFIGURATION_HEAD + "".join(rows) + CONFIGURATION_TAIL


def events() -> str:
    from paca.events import EVENT_TYPES

    parts = [EVENTS_HEAD, "| Type | Stored | Facts | Meaning |\n|---|---|---|---|\n"]
    for name, cls in EVENT_TYPES.items():
        facts = ", ".join(f"`{fact.name}`" for fact in dataclasses.fields(cls)) or "none"
        meaning = " ".join((cls.__doc__ or "").split()).replace("``", "`")
        meaning = "" if meaning.startswith(f"{cls.__name__}(") else meaning
        parts.append(f"| `{name}` | {'yes' if cls.durable else 'live'} | {facts} | {meaning} |\n")
    return "".join(parts)


def events_for_the_page() -> str:
    from paca.events import EVENT_TYPES

    listed = {
        name: {"durable": cls.durable, "facts": [fact.name for fact in dataclasses.fields(cls)]}
        for name, cls in EVENT_TYPES.items()
    }
    return json.dumps(listed, indent=1) + "\n"


def event_schema() -> str:
    import django

    django.setup()
    from paca.conversations.api.event_schema import schema_as_json

    return schema_as_json().decode()


def import_errors() -> None:
    """Import each module with an error that has a code: the pages must not depend on what is loaded."""
    import django

    django.setup()
    for file in sorted((ROOT / "paca").rglob("*.py")):
        if re.search(r"^    code = \"\w+\"$", file.read_text(encoding="utf-8"), re.MULTILINE):
            importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))


def openapi() -> str:
    import_errors()
    from paca.accounts.api import docs

    docs.openapi_schema.cache_clear()
    page = json.dumps(json.loads(docs.openapi_schema()), indent=1, ensure_ascii=False)
    # Each installation has a cookie of its own name.
    return re.sub(r'"paca_session_\w+"', '"paca_session_..."', page) + "\n"


def errors() -> str:
    import_errors()
    from paca.accounts.api import schema

    rows = [
        f"| `{code}` | {status} | {meaning} |\n"
        for code, (status, meaning) in sorted(schema.error_codes().items())
    ]
    ends = [f"| `{code}` | {meaning} |\n" for code, meaning in sorted(schema.run_errors().items())]
    page = ERRORS_HEAD + "".join(rows) + RUN_ERRORS_HEAD + "".join(ends)
    return page.replace("``", "`")


def status_labels_for_the_page() -> str:
    import django

    django.setup()
    from paca.web import labels

    return labels.as_javascript()


def limits_for_the_page() -> str:
    import django

    django.setup()
    from paca.web import limits

    return limits.as_javascript()


PAGES = {
    "docs/configuration.md": configuration,
    "docs/errors.md": errors,
    "docs/events.md": events,
    "docs/events.schema.json": event_schema,
    "docs/openapi.json": openapi,
    "paca/web/static/paca/events.json": events_for_the_page,
    "paca/web/static/paca/conversation/status-labels.js": status_labels_for_the_page,
    "paca/web/static/paca/core/limits.js": limits_for_the_page,
}


def stale() -> list[str]:
    """The pages whose text differs from what the code generates."""
    return [
        name
        for name, made in PAGES.items()
        if not (ROOT / name).is_file() or (ROOT / name).read_text(encoding="utf-8") != made()
    ]


if __name__ == "__main__":
    outdated = stale()
    if "--check" in sys.argv:
        sys.exit(f"stale, run `make docs`: {', '.join(outdated)}" if outdated else 0)
    for page in outdated:
        (ROOT / page).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / page).write_text(PAGES[page](), encoding="utf-8")
        print(f"wrote {page}")
