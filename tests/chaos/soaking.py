"""SOAK: ten minutes of ordinary work. Memory and descriptors do not grow, and nothing is left over."""

from __future__ import annotations

import http.client
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos import oracle
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.report import Report, percentile
from tests.chaos.scripts import DONE, Script, marking_command
from tests.chaos.testbed import SQLITE, Testbed
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 15.0
SECONDS, AT_ONCE, STEPS = 600, 20, 25
MODEL_MS = 200
SANDBOX_IDLE_SECONDS = "5"
API_P95_MS = 150
GROWTH_MIB_A_MINUTE = 1.0
MORE_DESCRIPTORS = 15  # pools that fill once
REST_SECONDS = 120


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    if testbed.name == SQLITE:
        report.say("growth shows where processes live long and there are several: on the services")
        return
    seconds = 60 if short else SECONDS
    given = {"SANDBOX_IDLE_SECONDS": SANDBOX_IDLE_SECONDS}
    with (
        ModelServer() as one,
        ModelServer() as other,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS, **given) as processes,
    ):
        one.record = other.record = False
        # An agent has at most ten conversations at once.
        groups = [ConversationGroup(model, f"soak-{n}") for n, model in enumerate((one, other))]
        workers = [
            processes.start("run_worker", "--concurrency", str(AT_ONCE // 2))
            for _ in range(testbed.workers)
        ]
        for worker in workers:
            worker.wait_until_ready()
        pids = {"web": processes.web_pid} | {
            f"worker {n}": each.pid for n, each in enumerate(workers)
        }
        with _watching(pids, processes.port, groups[0]) as watched:
            steps = _work(groups, report, seconds)
        report.figures["steps a second"] = f"{steps / seconds:.1f}"
        _report_waits(watched, report, seconds)
        left = _until_none_left(testbed)
        report.figures["sandboxes left"] = left
        if left:
            report.fault(f"{left} sandboxes run on although nobody uses them")


def _work(groups: list[ConversationGroup], report: Report, seconds: float) -> int:
    """Keep this many conversations busy; gives the number of their steps."""
    end, number, steps = time.monotonic() + seconds, 0, 0
    while (now := time.monotonic()) < end or any(group.running for group in groups):
        for group in groups:
            while len(group.running) < AT_ONCE // len(groups) and now < end:
                group.begin(_script_of(f"soak-{number}"))
                number += 1
            for observed, script in group.take_idle():
                steps += len(script.replies) if now < end else 0
                # Effects are not read: that would keep the sandbox from going idle.
                report.breaches(observed, oracle.judge_log(observed, script))
        report.progress(f"{number} conversations, {steps} steps")
        time.sleep(0.1)
        if now > end + REST_SECONDS:
            report.fault(
                "; ".join(f"never comes to rest: {group.describe_running()}" for group in groups)
            )
            break
    return steps


def _script_of(mark: str) -> Script:
    steps = [
        (says(f"Step {n}.") + calls(bash=marking_command(f"{mark}.{n}"))).slowly(ftd=MODEL_MS)
        for n in range(STEPS)
    ]
    return Script(mark, [*steps, says(DONE).slowly(ftd=MODEL_MS)])


def _until_none_left(testbed: Testbed) -> int:
    """How many sandboxes still run after the idle time."""
    end = time.monotonic() + REST_SECONDS
    while (
        left := sum(map(len, testbed.sandboxes.list_started().values()))
    ) and time.monotonic() < end:
        time.sleep(1)
    return left


# --- watching -----------------------------------------------------------------------------------------


@dataclass
class Watched:
    """Samples of each process, and how long the API took, in milliseconds."""

    resident_mib: dict[str, list[float]] = field(default_factory=dict)
    descriptors: dict[str, list[int]] = field(default_factory=dict)
    api_ms: list[float] = field(default_factory=list)


@contextmanager
def _watching(pids: dict[str, int], port: int, group: ConversationGroup) -> Iterator[Watched]:
    watched, over = Watched(), threading.Event()

    def sample() -> None:
        while not over.wait(2):
            for name, pid in pids.items():
                watched.resident_mib.setdefault(name, []).append(_resident_mib(pid))
                count = len(list(Path(f"/proc/{pid}/fd").iterdir()))
                watched.descriptors.setdefault(name, []).append(count)

    def ask() -> None:
        while not over.wait(0.3):
            began = time.monotonic()
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            headers = {"Authorization": f"Bearer {group.token}"}
            line.request("GET", group.conversations, headers=headers)
            line.getresponse().read()
            line.close()
            watched.api_ms.append(1000 * (time.monotonic() - began))

    threads = [threading.Thread(target=each) for each in (sample, ask)]
    _ = group.token  # made once, here
    for thread in threads:
        thread.start()
    try:
        yield watched
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def _report_waits(watched: Watched, report: Report, seconds: float) -> None:
    p95 = percentile(watched.api_ms, 0.95)
    report.figures["API"] = f"p95 {p95:.0f} ms"
    if p95 > API_P95_MS:
        report.fault(f"the API took {p95:.0f} ms at p95, {API_P95_MS} ms are promised")
    for name, samples in watched.resident_mib.items():
        # From the second quarter on: modules and caches load in the first.
        early, late = _quarters(samples)
        a_minute = (statistics.mean(late) - statistics.mean(early)) / (seconds / 60 / 2)
        report.figures[name] = f"{late[-1]:.0f} MiB, {a_minute:+.2f} a minute"
        if seconds < SECONDS:
            continue  # a minute shows no trend: modules and caches still load
        if a_minute > GROWTH_MIB_A_MINUTE:
            report.fault(f"{name} grows by {a_minute:.2f} MiB a minute")
        early, late = _quarters(watched.descriptors[name])
        if max(late) > max(early) + MORE_DESCRIPTORS:
            report.fault(f"{name} had {max(early)} descriptors open, and {max(late)} in the end")


def _quarters(samples: list[float] | list[int]) -> tuple[list[float], list[float]]:
    """The second and the last quarter."""
    quarter = max(1, len(samples) // 4)
    return list(samples[quarter : 2 * quarter]), list(samples[-quarter:])
