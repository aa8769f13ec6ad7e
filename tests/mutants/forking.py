"""A plugin of pytest that collects tests once and then runs those of each mutant in a fork of itself.

To start Python, import Paca and collect takes longer than the tests of most mutants. It answers each
line of JSON in the pipe ``MUTANTS_IN`` by one in ``MUTANTS_OUT``; the numbers are file descriptors.
"""

import contextlib
import gc
import json
import os
import signal
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import _pytest.main
import pytest

CANNOT_TELL = 100  # an exit code: the mutant needs a process of its own
SECONDS = 120  # for one mutant; each test has a limit of its own


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Answer requests until the pipe ends."""
    # Forks share what exists now, so it is never visited again, and stays shared.
    gc.freeze()
    requests = os.fdopen(int(os.environ["MUTANTS_IN"]), encoding="utf-8")
    answers = os.fdopen(int(os.environ["MUTANTS_OUT"]), "w", encoding="utf-8")
    for line in requests:
        print(json.dumps(_in_fork(session, **json.loads(line))), file=answers, flush=True)
    return True


def _in_fork(session: pytest.Session, tests: list[str], file: str, function: str) -> int:
    """The exit code of ``tests`` after the change to ``function`` of ``file``; an empty name changes nothing."""
    if (child := os.fork()) == 0:
        os.setpgid(0, 0)
        signal.alarm(SECONDS)
        code = CANNOT_TELL
        with contextlib.suppress(BaseException):
            if not function or _change(Path(file), function):
                code = _run(session, tests)
        os._exit(code)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what the tests have started and left
    return os.waitstatus_to_exitcode(status)


def _run(session: pytest.Session, tests: list[str]) -> int:
    session.items = [
        item for item in session.items if any(names(test, item.nodeid) for test in tests)
    ]
    if not session.items:
        return CANNOT_TELL
    failed = False
    try:
        _pytest.main.pytest_runtestloop(session)
    except session.Failed:
        failed = True
    with contextlib.suppress(Exception):
        session._setupstate.teardown_exact(None)
    return int(failed or session.testsfailed > 0)


def names(test: str, node: str) -> bool:
    """Whether ``test``, a file or a test function, is or contains the collected test ``node``."""
    return node == test or node.startswith((f"{test}::", f"{test}["))


def _change(file: Path, function: str) -> bool:
    """Give the functions of this name in memory the code that the file has now; False if that cannot be done."""
    if not any(
        getattr(module, "__file__", None) == str(file) for module in [*sys.modules.values()]
    ):
        return True  # The tests will import it from the changed file.
    compiled = compile(file.read_text(encoding="utf-8"), str(file), "exec")
    new = [code for code in _codes(compiled) if code.co_qualname == function]
    gc.unfreeze()
    old = [
        each
        for each in gc.get_objects()
        if isinstance(each, types.FunctionType)
        and each.__code__.co_filename == str(file)
        and each.__code__.co_qualname == function
    ]
    if len(new) != 1 or not old:
        return False
    for each in old:
        each.__code__ = new[0]
    return True


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)
