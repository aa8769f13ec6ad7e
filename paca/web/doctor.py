"""Looks at every part of this installation and says its state, what that means and what to do."""

import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from django.conf import settings

from paca.common.errors import ConfigurationError
from paca.web import health, preflight, sandboxes, stored

State = Literal["ok", "todo", "broken"]


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
        _examined("Python", lambda: _ok("Python", preflight.interpreter())),
        _examined("Data", _data),
        _examined("Secrets", _secrets),
    ]
    database = _examined("Database", _database)
    findings.append(database)
    if database.state == "ok" and stored.look().is_current:
        findings += [
            _examined("Encryption", _encryption),
            _examined("Access", _access),
            _examined("Model", _model),
        ]
    findings += [_examined("Sandbox", _sandbox), _examined("Server", _server)]
    return findings


def _examined(part: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except ConfigurationError as error:
        return Finding(part, "broken", error.detail, str(error.facts.get("next_step", "")))


def _ok(part: str, meaning: str) -> Finding:
    return Finding(part, "ok", meaning)


def _data() -> Finding:
    folder = settings.PACA_DATA_DIR
    meaning = preflight.data_folder(folder)
    if not folder.exists():
        return Finding("Data", "todo", f"{folder} is not there yet", "make run")
    if stat.S_IMODE(folder.stat().st_mode) & 0o077:
        return Finding("Data", "todo", f"{folder} is open to other accounts", f"chmod 700 {folder}")
    free = preflight.free_mib(folder)
    if free < preflight.LEAST_FREE_MIB:
        return Finding("Data", "broken", f"only {free} MiB are free in {folder}", "make room")
    return _ok("Data", f"{meaning}, {free / 1024:.0f} GiB free")


def _secrets() -> Finding:
    # Weak, malformed and readable-by-others were refused when the settings were read.
    if settings.PACA_KEYS.new:
        names = " and ".join(sorted(settings.PACA_KEYS.new))
        return Finding("Secrets", "todo", f"{names} not made yet", "make run")
    return _ok("Secrets", "kept, readable by this account only")


def _database() -> Finding:
    state = stored.look()
    if state.applied == 0:
        return Finding("Database", "todo", f"{state.file} is not there yet", "make run")
    if not state.is_current:
        return Finding("Database", "todo", f"{state.to_apply} migrations wait", "make run")
    return _ok("Database", f"SQLite, {state.file}")


def _encryption() -> Finding:
    stored.check_encryption_key()
    return _ok("Encryption", "every stored secret can be read")


def _access() -> Finding:
    has_password = stored.admin_has_a_password()
    meaning = preflight.exposure(settings.PACA_BIND, admin_has_a_password=has_password)
    if not has_password:
        return Finding(
            "Access",
            "todo",
            f"{meaning}; no administrator has a password",
            preflight.manage("sign_in_link admin"),
        )
    return _ok("Access", meaning)


def _model() -> Finding:
    real = stored.agents_with_a_real_model()
    if not real:
        return Finding(
            "Model",
            "todo",
            "demo only: a script answers",
            "open Agents, choose an agent, set its model and key, and press Save and test connection",
        )
    return _ok("Model", f"{real} agent{'s' if real > 1 else ''} with a real model")


def _sandbox() -> Finding:
    reason = sandboxes.unavailable()
    if settings.PACA_SANDBOX == "none":
        return Finding(
            "Sandbox", "todo", "none, as set: commands are refused", "unset PACA_SANDBOX"
        )
    if reason:
        return Finding("Sandbox", "broken", reason)
    return _ok("Sandbox", "bubblewrap: basic isolation, no network")


def _server() -> Finding:
    process = preflight.holder(settings.PACA_DATA_DIR)
    if process is None:
        return Finding("Server", "todo", "not running", "make run")
    if not health.worker_is_alive():
        return Finding(
            "Server",
            "broken",
            f"process {process} runs, but its worker gives no sign of life",
            "restart it",
        )
    return _ok("Server", f"running (process {process}), worker alive")
