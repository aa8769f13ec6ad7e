"""The rules of the house that no linter knows: budgets, doors, and what may stand where."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILE_WARN, FILE_FAIL, FUNCTION_WARN, FUNCTION_FAIL, LOOP_FAIL = 300, 400, 40, 60, 250

# file: why it may be longer than the budget
LONG_FILES: dict[str, str] = {
    "paca/events.py": "the catalogue: one entry for each type of event",
}
# file:function: why it may be longer than the budget
LONG_FUNCTIONS: dict[str, str] = {}

MAY_CATCH_EVERYTHING = {
    "paca/worker/turns.py": "the top of a run",
    "paca/engine/acting.py": "a failing tool is a result for the model",
    "paca/realtime/consumers.py": "a failing command is an error frame, the socket stays",
    "paca/common/best_effort.py": "an optional part fails without the run",
    "paca/worker/thread.py": "a thread cannot raise: it hands what it died of to who started it",
}
MAY_USE_SQL = {
    "paca/conversations/store.py": "the hot path: two transactions a step",
    "paca/common/prepared_queries.py": "runs what the ORM has written",
}
MAY_READ_THE_ENVIRONMENT = {
    "paca/env.py": "the one reader",
    "paca/asgi.py": "names the settings module, as Django wants it",
    "paca/sandbox/runner/main.py": "inside the sandbox: empties it",
    "paca/sandbox/runner/spawn.py": "inside the sandbox: sets where programs are looked for",
    "paca/engine/llm/litellm/library.py": "tells litellm to leave network and .env files alone",
}
MAY_CROSS = {
    "paca/worker/turns.py": "the door between engine and database",
    "paca/realtime/database.py": "the door between sockets and database",
    "paca/agents/connection_test.py": "a page waits for one word of a model",
}


@cache
def tracked() -> tuple[str, ...]:
    # Files not yet added count too: the rule should speak before the commit, not after it.
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return tuple(sorted(name for name in listed if (ROOT / name).is_file()))


def modules() -> Iterator[str]:
    for name in tracked():
        if name.startswith("paca/") and name.endswith(".py") and "/migrations/" not in name:
            yield name


@cache
def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(text_of(name), filename=name)


def nodes(name: str, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    return (node for node in ast.walk(tree_of(name)) if isinstance(node, kinds))


def outside(allowed: dict[str, str], finds: Iterator[tuple[str, int, str]]) -> list[str]:
    return [f"{name}:{line}: {what}" for name, line, what in finds if name not in allowed]


def test_files_stay_within_their_budget(capsys):
    too_long = []
    for name in modules():
        lines = text_of(name).count("\n")
        most = LOOP_FAIL if name == "paca/engine/loop.py" else FILE_FAIL
        if lines > most and name not in LONG_FILES:
            too_long.append(f"{name}: {lines} lines, at most {most}")
        elif lines > FILE_WARN:
            with capsys.disabled():
                print(f"\n  long file: {name}, {lines} lines (aim for {FILE_WARN})", end="")
    assert not too_long, "\n".join(too_long)


def test_functions_stay_within_their_budget(capsys):
    too_long = []
    for name in modules():
        for function in nodes(name, ast.FunctionDef, ast.AsyncFunctionDef):
            lines = function.end_lineno - function.lineno + 1
            label = f"{name}:{function.name}"
            if lines > FUNCTION_FAIL and label not in LONG_FUNCTIONS:
                too_long.append(f"{label}: {lines} lines, at most {FUNCTION_FAIL}")
            elif lines > FUNCTION_WARN:
                with capsys.disabled():
                    print(
                        f"\n  long function: {label}, {lines} lines (aim for {FUNCTION_WARN})",
                        end="",
                    )
    assert not too_long, "\n".join(too_long)


def test_every_exception_to_a_rule_is_still_needed():
    for name in LONG_FILES:
        assert text_of(name).count("\n") > FILE_FAIL, f"{name} is short now: take it off the list"
    for label in LONG_FUNCTIONS:
        name, _, wanted = label.partition(":")
        sizes = [
            function.end_lineno - function.lineno + 1
            for function in nodes(name, ast.FunctionDef, ast.AsyncFunctionDef)
            if function.name == wanted
        ]
        assert max(sizes, default=0) > FUNCTION_FAIL, f"{label} is short now: take it off the list"


def test_every_module_opens_with_one_sentence_on_what_lives_in_it():
    silent = []
    for name in modules():
        if not text_of(name).strip():
            continue  # an empty __init__ has nothing to say
        first = (ast.get_docstring(tree_of(name)) or "").partition("\n\n")[0]
        if not first.endswith((".", ":")):
            silent.append(name)
    assert not silent, "\n".join(silent)


def passes_on(handler: ast.ExceptHandler) -> bool:
    """It tidies up and raises the same again: nothing is swallowed."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def blind_handlers() -> Iterator[tuple[str, int, str]]:
    for name in modules():
        for handler in nodes(name, ast.ExceptHandler):
            if passes_on(handler):
                continue
            caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            names = {getattr(each, "id", getattr(each, "attr", None)) for each in caught if each}
            if handler.type is None or names & {"Exception", "BaseException"}:
                yield name, handler.lineno, "catches everything"


def test_only_the_named_places_catch_everything():
    assert not outside(MAY_CATCH_EVERYTHING, blind_handlers())


def sql() -> Iterator[tuple[str, int, str]]:
    for name in modules():
        for call in nodes(name, ast.Call):
            used = getattr(call.func, "attr", getattr(call.func, "id", ""))
            if used in {"cursor", "executescript", "raw", "RawSQL", "extra", "RunSQL"}:
                yield name, call.lineno, f"{used}(...)"
        for imported in nodes(name, ast.Import):
            if any(alias.name == "sqlite3" for alias in imported.names):
                yield name, imported.lineno, "import sqlite3"


def test_sql_is_written_in_the_store_only():
    assert not outside(MAY_USE_SQL, sql())


def environment_reads() -> Iterator[tuple[str, int, str]]:
    for name in modules():
        for node in nodes(name, ast.Attribute):
            if node.attr in {"environ", "getenv"} and getattr(node.value, "id", "") == "os":
                yield name, node.lineno, f"os.{node.attr}"


def test_the_environment_is_read_in_one_place():
    assert not outside(MAY_READ_THE_ENVIRONMENT, environment_reads())


def test_env_is_asked_by_the_settings_only():
    askers = {
        name
        for name in modules()
        for node in nodes(name, ast.ImportFrom, ast.Import)
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "paca"
            and any(a.name == "env" for a in node.names)
        )
        or (isinstance(node, ast.ImportFrom) and node.module == "paca.env")
        or (isinstance(node, ast.Import) and any(a.name == "paca.env" for a in node.names))
    }
    assert askers == {"paca/settings.py"}


def crossings() -> Iterator[tuple[str, int, str]]:
    for name in modules():
        for node in nodes(name, ast.ImportFrom):
            for alias in node.names:
                if alias.name in {"database_sync_to_async", "sync_to_async", "async_to_sync"}:
                    yield name, node.lineno, alias.name


def test_async_and_sync_code_meet_at_the_named_doors_only():
    assert not outside(MAY_CROSS, crossings())


@pytest.mark.parametrize("name", ["paca/engine", "paca/events.py", "paca/conversations/store.py"])
def test_what_the_rules_name_exists(name):
    assert (ROOT / name).exists()


# Built from halves, so that this file does not match itself.
MACHINE = re.compile(
    "|".join(
        (
            r"(?<![\w.])/wor" + "k/",
            r"(?<![\w.])/roo" + "t/",
            r"(?<![\w.])/hom" + r"e/(?!agent|user|me\b)\w",
            "/opt/pyp" + "i",
            "/opt/whee" + "ls",
            "pypi" + r"\.org",
            "python" + r"hosted\.org",
            "registry" + r"\.npmjs",
        )
    )
)


def test_no_tracked_file_names_a_machine_or_a_registry():
    finds = []
    for name in tracked():
        try:
            lines = text_of(name).splitlines()
        except UnicodeDecodeError:
            continue  # pictures and fonts
        finds += [
            f"{name}:{number}" for number, line in enumerate(lines, 1) if MACHINE.search(line)
        ]
    assert not finds, "\n".join(finds)
