"""Looks at every part of this installation and says its state, what that means and what to do."""

import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from django.conf import settings
from django.db import DatabaseError

from paca.common import disk_space
from paca.common.errors import ConfigurationError
from paca.ops import (
    database_check,
    database_state,
    health,
    sandbox_factory,
    startup_checks,
    worker_status,
)

State = Literal["ok", "todo", "broken"]

START = "make run"


@dataclass(frozen=True, slots=True)
class Finding:
    """One part. ``todo`` is something worth doing; only ``broken`` keeps Paca from working."""

    part: str
    state: State
    meaning: str
    next_step: str = ""


def examine() -> list[Finding]:
    """Every part, in the order in which they need one another."""
    findings = [
        _examined("Python", lambda: _ok("Python", startup_checks.interpreter())),
        _examined("Data", _data),
        _examined("Secrets", _secrets),
    ]
    database = _examined("Database", _database)
    findings.append(database)
    if database.state == "ok" and database_state.look().is_current:
        findings += [
            _examined("Encryption", _encryption),
            _examined("Access", _access),
            _examined("Model", _model),
            _examined("Workers", _workers),
            _examined("Queue", _queue),
        ]
    findings += [
        _examined("Bus", _bus),
        _examined("Sandbox", _sandbox),
        _examined("Server", _server),
    ]
    return findings


def examine_running() -> list[Finding]:
    """Those parts of a running installation that can be looked at in passing: nothing is started.

    That whoever asks has got as far as this shows that the database answers.
    """
    return [
        _ok("Database", f"{database_check.kind()}, {database_check.name()}"),
        _examined("Bus", _bus),
        _examined("Workers", _workers),
        _examined("Queue", _queue),
        _examined("Sandbox", _sandbox_of_workers),
        _examined("Data", _data),
    ]


def _examined(part: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except ConfigurationError as error:
        return Finding(part, "broken", error.detail, str(error.facts.get("next_step", "")))
    except DatabaseError:
        return Finding(part, "broken", "the database does not answer", "mend that first")


def _ok(part: str, meaning: str) -> Finding:
    return Finding(part, "ok", meaning)


def _data() -> Finding:
    folder = settings.PACA_DATA_DIR
    meaning = startup_checks.data_folder(folder)
    if not folder.exists():
        return Finding("Data", "todo", f"{folder} is not there yet", "make run")
    if stat.S_IMODE(folder.stat().st_mode) & 0o077:
        return Finding("Data", "todo", f"{folder} is open to other accounts", f"chmod 700 {folder}")
    free = disk_space.free_mib(folder)
    if free < disk_space.MIN_FREE_MIB:
        return Finding("Data", "broken", f"only {free} MiB are free in {folder}", "make room")
    return _ok("Data", f"{meaning}, {free / 1024:.0f} GiB free")


def _secrets() -> Finding:
    # Weak, malformed and readable-by-others were refused when the settings were read.
    if settings.PACA_KEYS.unsaved:
        names = " and ".join(sorted(settings.PACA_KEYS.unsaved))
        return Finding("Secrets", "todo", f"{names} not made yet", "make run")
    return _ok("Secrets", "kept, readable by this account only")


def _database() -> Finding:
    state = database_state.look()
    if state.applied == 0:
        return Finding("Database", "todo", f"{database_check.name()} has no tables yet", "make run")
    if not state.is_current:
        return Finding("Database", "todo", f"{state.to_apply} migrations wait", "make run")
    return _ok("Database", f"{database_check.kind()}, {database_check.name()}")


def _encryption() -> Finding:
    database_state.check_encryption_key()
    return _ok("Encryption", "every stored secret can be read")


def _access() -> Finding:
    has_password = database_state.admin_has_a_password()
    meaning = startup_checks.exposure(settings.PACA_BIND, admin_has_a_password=has_password)
    if not has_password:
        return Finding(
            "Access",
            "todo",
            f"{meaning}; no administrator has a password",
            startup_checks.manage("sign_in_link admin"),
        )
    return _ok("Access", meaning)


def _model() -> Finding:
    real = database_state.agents_with_a_real_model()
    if not real:
        return Finding(
            "Model",
            "todo",
            "demo only: a script answers",
            "open Agents, choose an agent, set its model and key, and press Save and test connection",
        )
    return _ok("Model", f"{real} agent{'s' if real > 1 else ''} with a real model")


def _sandbox() -> Finding:
    reason = sandbox_factory.unavailable()
    if settings.PACA_SANDBOX == "none":
        return Finding(
            "Sandbox", "todo", "none, as set: commands are refused", "unset PACA_SANDBOX"
        )
    if reason and not database_check.is_file() and (able := worker_status.able()):
        return _ok("Sandbox", f"{', '.join(able)}, where the workers run; here not: {reason}")
    if reason:
        return Finding("Sandbox", "broken", reason)
    return _ok("Sandbox", sandbox_factory.summary())


def _sandbox_of_workers() -> Finding:
    """As the workers tell: they look every few seconds."""
    if faults := worker_status.sandbox_faults():
        return Finding("Sandbox", "broken", " ".join(faults))
    if able := worker_status.able():
        return _ok("Sandbox", f"{' and '.join(able)}, where the workers run")
    if settings.PACA_SANDBOX == "none":
        return Finding(
            "Sandbox", "todo", "none, as set: commands are refused", "unset PACA_SANDBOX"
        )
    return Finding("Sandbox", "todo", "no worker has told yet", "wait a moment")


def _server() -> Finding:
    process = startup_checks.holder(settings.PACA_DATA_DIR)
    if process is None:
        return Finding("Server", "todo", "not running on this data folder", START)
    return _ok("Server", f"running (process {process})")


def _workers() -> Finding:
    found = worker_status.workers()
    fault = worker_status.workers_fault(found)
    if fault and startup_checks.holder(settings.PACA_DATA_DIR) is None and not found.draining:
        return Finding("Workers", "todo", "none is running", START)
    if fault:
        mend = START if database_check.is_file() else startup_checks.manage("run_worker")
        return Finding("Workers", "broken", fault, f"start one, or restart it: {mend}")
    meaning = f"{found.working} at work, room for {found.room} more conversations"
    if found.draining:
        meaning += f"; {found.draining} about to end"
    if trouble := worker_status.scattered():
        return Finding("Workers", "todo", meaning, trouble)
    return _ok("Workers", meaning)


def _queue() -> Finding:
    waits = worker_status.queue()
    if fault := worker_status.queue_fault(waits, worker_status.workers()):
        return Finding("Queue", "broken", fault, "look into the log of the workers")
    if not waits.waiting:
        return _ok("Queue", "nothing waits for a worker")
    return _ok("Queue", f"{waits.waiting} wait, the oldest for {waits.oldest_seconds:.0f} s")


def _bus() -> Finding:
    if not settings.REDIS_URL:
        return _ok("Bus", "in memory: one process")
    if fault := health.bus_fault():
        return Finding(
            "Bus",
            "broken",
            f"Redis {fault}: answers are not seen as they are written, and come up to 2 s late",
            "start it, or correct REDIS_URL",
        )
    return _ok("Bus", "Redis answers")
