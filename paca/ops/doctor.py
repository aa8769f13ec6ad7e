"""Checks every part of an installation and reports its state, the reason and the next step."""

import stat

from django.conf import settings

from paca.agents.toolbox import installed_tools
from paca.common import disk_space
from paca.common.trusted_proxies import TrustedProxies
from paca.engine.llm import proxies
from paca.ops import (
    advice,
    database_check,
    database_state,
    network_check,
    proxy_check,
    repositories_check,
    sandbox_factory,
    sandbox_limits,
    sandbox_machine,
    startup_checks,
    storage,
    worker_status,
)
from paca.ops.bus_checks import check_bus
from paca.ops.check_result import CheckResult, passed, run_check
from paca.ops.connections import limits

MIN_CONNECTIONS = 256  # fewer are used up by a team with a few open pages each


def check_installation(*, with_limits: bool = False) -> list[CheckResult]:
    """Check every part, in order of dependency. May start a sandbox.

    ``with_limits``: the limits of a sandbox are tried too, which takes some seconds.
    """
    results = [
        run_check("Python", lambda: passed("Python", startup_checks.check_python())),
        run_check("Data", _data),
        run_check("Secrets", _secrets),
    ]
    database = run_check("Database", _database)
    results.append(database)
    if database.state == "ok" and database_state.read_migration_state().is_current:
        results += [
            run_check("Encryption", _encryption),
            run_check("Access", _access),
            run_check("Model", _model),
            run_check("Workers", _workers),
            run_check("Queue", _queue),
            run_check("Storage", _storage),
        ]
    results += [
        *_custom_tools(),
        *check_bus(),
        *_sandboxes(),
        run_check("Isolation", _isolation),
        *([run_check("Limits", _sandbox_limits)] if with_limits else []),
        run_check("Server", _server),
        run_check("Connections", _connections),
        run_check("Proxy", _proxy),
    ]
    return results


def check_running_installation() -> list[CheckResult]:
    """Check the parts that can be checked quickly from a web process. Starts nothing.

    The database is reported as ok: the request could not have come this far without it.
    """
    return [
        passed(
            "Database", f"{database_check.engine_and_version()}, {database_check.display_name()}"
        ),
        *check_bus(),
        run_check("Workers", _workers),
        run_check("Queue", _queue),
        *_custom_tools(),
        run_check("Sandbox", _sandbox_of_workers),
        run_check("Data", _data),
        run_check("Storage", _storage),
    ]


def _data() -> CheckResult:
    folder = settings.PACA_DATA_DIR
    meaning = startup_checks.check_data_folder(folder)
    if not folder.exists():
        return CheckResult("Data", "todo", f"{folder} does not exist yet", advice.start_command())
    if stat.S_IMODE(folder.stat().st_mode) & 0o077:
        return CheckResult(
            "Data", "todo", f"{folder} is open to other accounts", f"chmod 700 {folder}"
        )
    free = disk_space.free_mib(folder)
    if free < disk_space.MIN_FREE_MIB:
        return CheckResult(
            "Data",
            "broken",
            f"only {free} MiB are free on the disk of {folder}",
            "free some disk space",
        )
    return passed("Data", f"{meaning}, {free / 1024:.0f} GiB free")


def _secrets() -> CheckResult:
    # Reading the settings has already refused weak, malformed and world-readable secrets.
    if settings.PACA_KEYS.unsaved:
        names = " and ".join(sorted(settings.PACA_KEYS.unsaved))
        return CheckResult("Secrets", "todo", f"{names} do not exist yet", advice.start_command())
    return passed("Secrets", "stored, readable by this account only")


def _database() -> CheckResult:
    state = database_state.read_migration_state()
    if state.applied == 0:
        return CheckResult(
            "Database",
            "todo",
            f"{database_check.display_name()} has no tables yet",
            advice.start_command(),
        )
    if not state.is_current:
        return CheckResult(
            "Database",
            "todo",
            f"{state.pending} migrations are not applied",
            advice.start_command(),
        )
    return passed(
        "Database", f"{database_check.engine_and_version()}, {database_check.display_name()}"
    )


def _encryption() -> CheckResult:
    database_state.check_encryption_key()
    return passed("Encryption", "every stored secret can be decrypted")


def _access() -> CheckResult:
    has_password = database_state.admin_has_a_password()
    meaning = startup_checks.check_exposure(settings.PACA_BIND, admin_has_a_password=has_password)
    if not has_password:
        return CheckResult(
            "Access",
            "todo",
            f"{meaning}; no administrator has a password",
            advice.manage_command("sign_in_link admin"),
        )
    return passed("Access", meaning)


def _model() -> CheckResult:
    real = database_state.agents_with_a_real_model()
    if not real:
        return CheckResult(
            "Model",
            "todo",
            "demo only: a script answers, not a model",
            "open Agents, choose an agent, set its model and key, and press Save and test connection",
        )
    used = proxies.in_use()
    by_proxy = f", public servers through the proxy {' and '.join(used)}" if used else ""
    return passed("Model", f"{real} agent{'s' if real > 1 else ''} with a real model{by_proxy}")


def _sandboxes() -> list[CheckResult]:
    """The sandbox of this host, and what runs beside it if commands can run here."""
    sandbox = run_check("Sandbox", _sandbox)
    # The gate and the broker are started below the data folder, which a look before the first start does not make.
    if sandbox.state != "ok" or not settings.PACA_DATA_DIR.exists():
        return [sandbox]
    return [
        sandbox,
        run_check("Network", network_check.check_network_gate),
        run_check(repositories_check.PART, repositories_check.check_repositories),
    ]


def _sandbox() -> CheckResult:
    reason = sandbox_factory.unavailable_reason()
    if settings.PACA_SANDBOX == "none":
        return CheckResult(
            "Sandbox", "todo", "none, as configured: commands are refused", "unset PACA_SANDBOX"
        )
    if (
        reason
        and not database_check.is_sqlite()
        and (backends := worker_status.available_backends())
    ):
        return passed(
            "Sandbox", f"{', '.join(backends)}, on the workers; not on this host: {reason}"
        )
    if reason:
        return CheckResult("Sandbox", "broken", reason)
    return passed("Sandbox", sandbox_factory.summary())


def _isolation() -> CheckResult:
    """What this machine has to keep sandboxes in, and what is missing."""
    facts, missing = sandbox_machine.describe()
    if not missing or settings.PACA_SANDBOX == "none":
        return passed("Isolation", "; ".join(facts))
    steps = f"{'; '.join(missing)}; see docs/sandbox-security.md"
    return CheckResult("Isolation", "todo", "; ".join(facts), steps)


def _sandbox_limits() -> CheckResult:
    hold, meaning = sandbox_limits.try_limits()
    if hold:
        return passed("Limits", meaning)
    advice = "see Limits of a sandbox in docs/deployment.md"
    return CheckResult("Limits", "todo", meaning, advice)


def _sandbox_of_workers() -> CheckResult:
    """The state that workers report; they check it every few seconds."""
    if faults := worker_status.sandbox_faults():
        return CheckResult("Sandbox", "broken", " ".join(faults))
    if backends := worker_status.available_backends():
        return passed("Sandbox", f"{' and '.join(backends)}, on the workers")
    if settings.PACA_SANDBOX == "none":
        return CheckResult(
            "Sandbox", "todo", "none, as configured: commands are refused", "unset PACA_SANDBOX"
        )
    return CheckResult("Sandbox", "todo", "no worker has reported yet", "wait a moment")


def _server() -> CheckResult:
    process = startup_checks.lock_holder(settings.PACA_DATA_DIR)
    if process is None:
        return CheckResult(
            "Server", "todo", "not running on this data folder", advice.start_command()
        )
    return passed("Server", f"running (process {process})")


def _connections() -> CheckResult:
    server = startup_checks.lock_holder(settings.PACA_DATA_DIR) or 0
    open_files, found = limits.open_files_limit(server), limits.configured_limits(server)
    meaning = (
        f"up to {found.connections} at once, {found.per_address} of one address; "
        f"limit of open files: {open_files}"
    )
    if found.connections > max(open_files - limits.MIN_RESERVED_FILES, MIN_CONNECTIONS):
        return CheckResult(
            "Connections", "todo", meaning, "lower WEB_CONNECTIONS, or raise the limit: ulimit -n"
        )
    if found.connections < MIN_CONNECTIONS:
        return CheckResult(
            "Connections", "todo", meaning, "raise it: ulimit -n 4096 (systemd: LimitNOFILE=4096)"
        )
    return passed("Connections", meaning)


def _proxy() -> CheckResult:
    trusted = TrustedProxies(settings.FORWARDED_ALLOW_IPS)
    meaning = f"X-Forwarded headers are believed from: {trusted}"
    ignored = proxy_check.ignored_proxy()
    if ignored and ignored not in trusted:
        return CheckResult(
            "Proxy",
            "todo",
            f"{meaning}; {ignored} sends them too. If it is your proxy, cookies are not Secure, and all "
            "people share one limit of sign-ins",
            f"set FORWARDED_ALLOW_IPS={ignored}",
        )
    return passed("Proxy", meaning)


def _workers() -> CheckResult:
    counts = worker_status.count_workers()
    fault = worker_status.workers_fault(counts)
    if fault and startup_checks.lock_holder(settings.PACA_DATA_DIR) is None and not counts.draining:
        return CheckResult("Workers", "todo", "none is running", advice.start_command())
    if fault:
        is_sqlite = database_check.is_sqlite()
        restart = advice.start_command() if is_sqlite else advice.worker_command()
        return CheckResult("Workers", "broken", fault, f"start one, or restart it: {restart}")
    meaning = f"{counts.working} running, capacity for {counts.room} more conversations"
    if counts.draining:
        meaning += f"; {counts.draining} draining"
    if problem := worker_status.placement_problem():
        return CheckResult("Workers", "todo", meaning, problem)
    return passed("Workers", meaning)


def _queue() -> CheckResult:
    queue = worker_status.measure_queue()
    if fault := worker_status.queue_fault(queue, worker_status.count_workers()):
        return CheckResult("Queue", "broken", fault, "read the log of the workers")
    if not queue.waiting:
        return passed("Queue", "no conversation waits for a worker")
    return passed("Queue", f"{queue.waiting} waiting, the oldest for {queue.oldest_seconds:.0f} s")


def _custom_tools() -> list[CheckResult]:
    """The tools of installed packages in this process; nothing if no package has any."""
    found = installed_tools()
    if found.problems:
        texts = [f"{each.entry} of {each.package}: {each.problem}" for each in found.problems]
        advice = "repair or remove the package, then restart; see docs/custom_tools.md"
        return [CheckResult("Tools", "todo", " ".join(texts), advice)]
    names = [f"{tool.name} ({tool.package})" for tool in found.tools]
    return [passed("Tools", f"custom: {', '.join(names)}")] if names else []


def _storage() -> CheckResult:
    return passed("Storage", storage.summary())
