"""Every setting has an effect and stands in the documentation; no generated page is stale."""

import ast
import re
from pathlib import Path

from django.conf import global_settings

from paca.common import request_body
from paca.env import VARIABLES
from scripts import make_docs
from tests.test_architecture import modules, nodes, text_of

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = (
    "paca/settings.py",
    "paca/agent_settings.py",
    "paca/keep_settings.py",
    "paca/telemetry_settings.py",
    "paca/model_settings.py",
    "paca/network_settings.py",
    "paca/sandbox_settings.py",
    "paca/setup_settings.py",
)


def read_from_the_environment() -> dict[str, str]:
    """Variable -> the name under which the settings keep it."""
    found = {}
    for statement in (each for file in SETTINGS for each in nodes(file, ast.Assign)):
        for call in ast.walk(statement.value):
            if (
                isinstance(call, ast.Call)
                and getattr(getattr(call.func, "value", None), "id", "") == "env"
            ):
                found[call.args[0].value] = statement.targets[0].id
    return found


def used_in_settings(name: str) -> bool:
    return any(
        node.id == name and isinstance(node.ctx, ast.Load)
        for file in SETTINGS
        for node in nodes(file, ast.Name)
    )


def used_by_the_code(name: str) -> bool:
    wanted = re.compile(rf"\bsettings\.{name}\b")
    return any(wanted.search(text_of(module)) for module in modules() if module not in SETTINGS)


def test_settings_read_every_variable_once():
    assert set(read_from_the_environment()) == set(VARIABLES)


def test_settings_each_have_an_effect():
    without = [
        variable
        for variable, name in read_from_the_environment().items()
        if not (used_by_the_code(name) or used_in_settings(name) or hasattr(global_settings, name))
    ]
    assert not without, f"nothing reads {', '.join(without)}"


def test_settings_have_a_meaning_and_their_unit_in_their_name():
    units = (
        "DAYS",
        "SECONDS",
        "MIB",
        "MINUTE",
        "HOUR",
        "HOPS",
        "REQUESTS",
        "CPUS",
        "STEPS",
        "RETRIES",
        "CONCURRENCY",
        "PORT",
        "SIZE",
    )
    units += ("CHARACTERS", "FILES")
    units += ("COMPACT_AT",)  # a part of a window
    units += ("CONNECTIONS", "CONNECTIONS_PER_ADDRESS")
    for variable in VARIABLES.values():
        assert variable.meaning.endswith("."), variable.name
        if re.fullmatch(r"\d+(\.\d+)?", variable.default):
            assert variable.name.endswith(units), f"{variable.name}: of what?"


def test_generated_pages_are_up_to_date():
    assert not make_docs.stale(), "run: make docs"


def test_links_of_the_documents_lead_to_files():
    dead = []
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                dead.append(f"{page.name}: {target}")
    assert not dead


def test_readme_lists_every_page_of_the_documentation():
    listed = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = [f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))]
    assert not [page for page in pages if f"]({page})" not in listed]


def test_proxy_of_the_documentation_lets_the_largest_file_through():
    page = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
    (most,) = re.findall(r"client_max_body_size (\d+)m;", page)
    assert int(most) > max(int(VARIABLES[setting].default) for _, setting in request_body.UPLOADS)


def test_security_page_names_only_tests_that_exist():
    named = re.findall(
        r"`(tests/\S+?\.py)::(\w+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    )
    assert len(named) > 40
    gone = [
        f"{file}::{name}"
        for file, name in named
        if f"def {name}(" not in (ROOT / file).read_text("utf-8")
    ]
    assert not gone
