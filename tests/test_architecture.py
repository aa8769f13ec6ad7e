"""Rules of the code base that no linter knows: budgets, and what only a named module may do.

A list ``MAY_...`` names the modules that may, each with its reason. A module that no longer needs
its entry fails the test too.
"""

import ast
import importlib.util
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import NEVER_QUICK, PROCESS

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
    "paca/mcp_server/protocol.py": "a broken tool is a result; the SDK would send the words of its error to the client",
    "paca/engine/llm/litellm/library.py": "litellm raises errors of every kind, also a plain Exception",
    "paca/engine/llm/litellm/translation.py": "litellm raises errors of every kind, also a plain Exception",
    "paca/engine/acting.py": "a failing tool is a result for the model",
    "paca/engine/mcp/sdk.py": "the SDK of MCP raises errors of every kind, and groups of them",
    "paca/engine/tools/custom.py": "a check of a custom tool's package fails in any way",
    "paca/engine/tools/handler_threads.py": "a thread cannot raise: the call that waits for it gets the error",
    "paca/engine/tools/installed.py": "a package that cannot be imported must not stop a worker",
    "paca/realtime/base_consumer.py": "a failing command is an error frame, the socket stays",
    "paca/common/best_effort.py": "an optional part fails without the run",
    "paca/worker/thread.py": "a thread cannot raise: it hands its error to the thread that started it",
}
MAY_USE_SQL = {
    "paca/conversations/store.py": "the hot path: two transactions a step",
    "paca/conversations/projections.py": "the rows beside the log, in the same two transactions",
    "paca/conversations/status_columns.py": "the statuses of those rows",
    "paca/conversations/log_copy.py": "copies a log in one statement, which the ORM cannot",
    "paca/common/prepared_queries.py": "runs SQL that the ORM has written",
    "paca/common/postgresql/base.py": "sets the limits of a new connection, and tries an idle one with an empty statement",
    "paca/projects/services/task_positions.py": "makes the places of a column even in one statement",
    "paca/projects/search.py": "full-text search: FTS5 and tsvector have no words in the ORM",
    "paca/common/sqlite_checkpoint.py": "asks SQLite for a checkpoint, which the ORM cannot",
    "paca/ops/database_check.py": "PostgreSQL's lock around migrations, and whether the account may create tables",
    "paca/ops/database_rights.py": "what the account may do, in the words of each database",
    "paca/bus/redis/publisher.py": "no SQL: a pipeline of Redis commands",
    "paca/bus/redis/consumer_group.py": "no SQL: a pipeline of Redis commands",
    "paca/bus/redis/dead_triggers.py": "no SQL: a pipeline of Redis commands",
    "paca/bus/redis/server_state.py": "no SQL: a pipeline of Redis commands",
}
MAY_READ_THE_ENVIRONMENT = {
    "paca/env.py": "the one reader",
    "paca/ops/management/commands/agent_chat.py": "the token of the person who types, no setting of an installation",
    "paca/asgi.py": "names the settings module, as Django wants it",
    "paca/sandbox/runner/main.py": "inside the sandbox: empties it",
    "paca/sandbox/runner/spawn.py": "inside the sandbox: sets the path of programs",
    "paca/engine/llm/litellm/library.py": "tells litellm to leave network and .env files alone",
    "paca/sandbox/egress/seccomp_filter.py": "in the process of a gate: tells the C library how to ask for names",
}
MAY_CROSS = {
    "paca/worker/database.py": "the worker's door to the database",
    "paca/mcp_server/application.py": "the import of the SDK takes seconds",
    "paca/ops/network_check.py": "the doctor's commands are sync, and the gate of sandboxes is async",
    "paca/ops/repositories_check.py": "the doctor's commands are sync, and the broker is async",
    "paca/realtime/database.py": "the sockets' door to the database",
    "paca/repositories/hosts/client.py": "git servers are asked from threads, by the checked transport, which is async",
    "paca/repositories/skill_sources/fetching.py": "a page waits for git, which the broker's code runs in an event loop",
    "paca/engine/tools/push_search.py": "the search of a large push takes a second or two",
    "paca/worker/git_server_threads.py": "git servers are waited for in no thread of other work",
    "paca/worker/thread.py": "the event loop of the worker, in a thread of its own",
    "paca/worker/main.py": "the thread of the lease hands a lost lease to the event loop",
    "paca/worker/telemetry.py": "ends of turns come from other threads",
    "paca/engine/mcp/connection.py": "the import of the SDK takes seconds",
    "paca/engine/mcp/sdk.py": "schemas that a server makes for it take a second to check",
    "paca/engine/tools/custom.py": "a handler in its thread shows text while it runs",
    "paca/engine/tools/handler_threads.py": "handlers of custom tools run in threads",
    "paca/bus/listener.py": "hints come from other threads",
    "paca/bus/redis/bus.py": "waits for the end of the thread that reads from Redis",
    "paca/ops/uvicorn/server.py": "drains the worker before the server ends",
    "paca/ops/sandbox_factory.py": "a page or the doctor asks whether sandboxes can be had",
    "paca/ops/management/commands/reap_sandboxes.py": "a command sweeps once",
    "paca/agents/connection_check.py": "a page waits for one word of a model",
    "paca/agents/mcp_check.py": "a page waits until an MCP server has said what it offers",
    "paca/agents/mcp_sign_in.py": "a page waits for the sign-in service of an MCP server",
    "paca/engine/llm/http_pool.py": "the import of the HTTP library takes half a second",
    "paca/engine/llm/litellm/library.py": "the import of the library takes seconds",
    "paca/conversations/services/file_downloads.py": "a download reads its parts from the database",
    "paca/worker/file_streams.py": "compresses the files of an archive",
    "paca/common/api/downloads.py": "reads the file of a download",
    "paca/ops/management/commands/agent_chat.py": "the terminal client has an event loop of its own",
    "paca/terminal/input_lines.py": "a thread reads what a person types",
    "paca/sandbox/manager.py": "asks the Docker daemon or reads /proc",
    "paca/sandbox/docker/backend.py": "asks the Docker daemon",
    "paca/sandbox/bubblewrap/backend.py": "reads /proc, starts processes, removes files",
    "paca/sandbox/bubblewrap/sandbox_directory.py": "removes files",
    "paca/sandbox/bubblewrap/workspace_copy.py": "mounts and removes files",
    "paca/sandbox/bubblewrap/setup_files.py": "asks the programs of this server for their versions",
    "paca/sandbox/egress/gates.py": "starts a process, writes files",
    "paca/sandbox/egress/process.py": "a program of its own has an event loop of its own",
    "paca/worker/sandboxes/cache_keeper.py": "walks folders of packages",
    "paca/repositories/broker/ancestry.py": "writes, reads and removes files",
    "paca/repositories/broker/mirrors.py": "removes and measures folders",
    "paca/repositories/broker/process.py": "a program of its own has an event loop of its own",
    "paca/repositories/broker/running.py": "starts a process",
    "paca/worker/repository_access.py": "looks into the folder of the network gates",
    "paca/worker/sandboxes/network_gates.py": "reads and removes files",
    "paca/worker/sandboxes/setups.py": "reads what the network gate has booked",
    "paca/worker/sandboxes/sweeper.py": "asks the Docker daemon or reads /proc",
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


def test_long_files_and_functions_still_need_their_entry():
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


def test_modules_open_with_one_sentence_on_what_lives_there():
    silent = []
    for name in modules():
        if not text_of(name).strip():
            continue  # an empty __init__ has nothing to say
        first = (ast.get_docstring(tree_of(name)) or "").partition("\n\n")[0]
        if not first.endswith((".", ":")):
            silent.append(name)
    assert not silent, "\n".join(silent)


def raises_again(handler: ast.ExceptHandler) -> bool:
    """Whether the handler ends with a bare ``raise``: it swallows nothing."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def blind_handlers() -> Iterator[tuple[str, int, str]]:
    for name in modules():
        for handler in nodes(name, ast.ExceptHandler):
            if raises_again(handler):
                continue
            caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            names = {getattr(each, "id", getattr(each, "attr", None)) for each in caught if each}
            if handler.type is None or names & {"Exception", "BaseException"}:
                yield name, handler.lineno, "catches everything"


SQL = {"execute", "executemany", "executescript", "cursor", "raw", "RawSQL", "extra", "RunSQL"}


def sql() -> Iterator[tuple[str, int, str]]:
    for name in modules():
        for call in nodes(name, ast.Call):
            if called(call) in SQL:
                yield name, call.lineno, f"{called(call)}(...)"
        for imported in nodes(name, ast.Import):
            if any(alias.name == "sqlite3" for alias in imported.names):
                yield name, imported.lineno, "import sqlite3"


def called(call: ast.Call) -> str:
    """The last name of what is called: ``execute`` for ``cursor.execute(...)``."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def environment_reads() -> Iterator[tuple[str, int, str]]:
    for name in modules():
        for node in nodes(name, ast.Attribute):
            if node.attr in {"environ", "getenv"} and getattr(node.value, "id", "") == "os":
                yield name, node.lineno, f"os.{node.attr}"


CROSSINGS = {
    "sync_to_async",
    "async_to_sync",
    "database_sync_to_async",
    "run_in_executor",
    "to_thread",
    "run_coroutine_threadsafe",
    "call_soon_threadsafe",
}


def crossings() -> Iterator[tuple[str, int, str]]:
    for name in modules():
        for node in nodes(name, ast.ImportFrom, ast.Attribute):
            if isinstance(node, ast.ImportFrom):
                used = {alias.name for alias in node.names} & CROSSINGS
            else:
                used = {node.attr} & CROSSINGS
                if node.attr in {"run", "Runner"} and getattr(node.value, "id", "") == "asyncio":
                    used = {f"asyncio.{node.attr}"}
            for crossing in sorted(used):
                yield name, node.lineno, crossing


RULES = {
    "catching everything": (MAY_CATCH_EVERYTHING, blind_handlers),
    "SQL": (MAY_USE_SQL, sql),
    "the environment": (MAY_READ_THE_ENVIRONMENT, environment_reads),
    "crossing between async and sync": (MAY_CROSS, crossings),
}
Find = Callable[[], Iterator[tuple[str, int, str]]]


@pytest.mark.parametrize(("allowed", "find"), RULES.values(), ids=RULES)
def test_modules_outside_the_list_keep_to_the_rule(allowed: dict[str, str], find: Find):
    broken = [f"{name}:{line}: {seen}" for name, line, seen in find() if name not in allowed]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(("allowed", "find"), RULES.values(), ids=RULES)
def test_modules_on_the_list_still_need_their_entry(allowed: dict[str, str], find: Find):
    assert allowed.keys() == {name for name, _, _ in find()}, "take it off the list"


def test_env_module_is_imported_by_the_settings_only():
    importers = {
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
    assert importers == {
        "paca/settings.py",
        "paca/agent_settings.py",
        "paca/keep_settings.py",
        "paca/model_settings.py",
        "paca/network_settings.py",
        "paca/sandbox_settings.py",
        "paca/setup_settings.py",
        "paca/telemetry_settings.py",
    }


def test_mypy_is_strict_on_every_module():
    """An override may only say that a library ships no types."""
    mypy = tomllib.loads(text_of("pyproject.toml"))["tool"]["mypy"]
    assert mypy["strict"] is True
    assert mypy["exclude"] == ["/migrations/"]
    assert all(each.keys() == {"module", "ignore_missing_imports"} for each in mypy["overrides"])
    loose = {key for key, value in mypy.items() if key != "strict" and value is False}
    assert not loose


def test_mypy_overrides_name_only_libraries_without_types():
    """A library that ships its types by now must go from the list."""
    mypy = tomllib.loads(text_of("pyproject.toml"))["tool"]["mypy"]
    for override in mypy["overrides"]:
        for library in (name.removesuffix(".*") for name in override["module"]):
            folder = Path(importlib.util.find_spec(library).origin).parent
            assert not (folder / "py.typed").exists(), library
            assert not (folder.parent / f"{library}-stubs").exists(), library


def test_folders_and_files_of_slow_tests_exist():
    """A renamed file would slip into ``make test-quick``."""
    gone = [
        start
        for start in (*PROCESS, *(f"tests/{folder}/" for folder in NEVER_QUICK))
        if not any(name.startswith(start) for name in tracked())
    ]
    assert not gone


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


def test_tracked_files_name_no_machine_and_no_registry():
    found = []
    for name in tracked():
        if name == "paca/common/network_policy.py":
            continue  # its presets are the hosts of registries
        try:
            lines = text_of(name).splitlines()
        except UnicodeDecodeError:
            continue  # pictures and fonts
        found += [
            f"{name}:{number}" for number, line in enumerate(lines, 1) if MACHINE.search(line)
        ]
    assert not found, "\n".join(found)
