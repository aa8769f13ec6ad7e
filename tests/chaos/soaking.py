"""SOAK: ordinary work for ten minutes, as small at the end as at the beginning, and nothing is left of it."""

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
from tests.chaos.cast import Cast
from tests.chaos.ground import SQLITE, Ground
from tests.chaos.report import Report, percentile
from tests.chaos.stories import DONE, Story, leaves
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 15.0
SECONDS, AT_ONCE, STEPS = 600, 20, 25
MODEL_MS = 200
SANDBOX_IDLE_SECONDS = "5"
API_P95_MS = 150
GROWTH_MIB_A_MINUTE = 1.0
MORE_DESCRIPTORS = 15  # pools that fill once, no more
REST_SECONDS = 120


def run(ground: Ground, report: Report, *, seed: int, short: bool) -> None:
    if ground.name == SQLITE:
        report.say("growth shows where processes live long and there are several: on the services")
        return
    seconds = 60 if short else SECONDS
    given = {"SANDBOX_IDLE_SECONDS": SANDBOX_IDLE_SECONDS}
    with (
        ModelServer() as one,
        ModelServer() as other,
        ground.team(report.traces, lease_seconds=LEASE_SECONDS, **given) as team,
    ):
        one.record = other.record = False
        # An agent has at most ten conversations at once.
        casts = [Cast(model, f"soak-{n}") for n, model in enumerate((one, other))]
        workers = [
            team.start("run_worker", "--concurrency", str(AT_ONCE // 2))
            for _ in range(ground.workers)
        ]
        for worker in workers:
            worker.wait_until_ready()
        pids = {"web": team.web_pid} | {f"worker {n}": each.pid for n, each in enumerate(workers)}
        with _watching(pids, team.port, casts[0]) as watched:
            steps = _work(casts, report, seconds)
        report.figures["steps a second"] = f"{steps / seconds:.1f}"
        _tell(watched, report, seconds)
        left = _until_none_left(ground)
        report.figures["sandboxes left"] = left
        if left:
            report.fault(f"{left} sandboxes run on although nobody uses them")


def _work(casts: list[Cast], report: Report, seconds: float) -> int:
    """Keep so many conversations busy; gives how many steps they made."""
    end, number, steps = time.monotonic() + seconds, 0, 0
    while (now := time.monotonic()) < end or any(cast.running for cast in casts):
        for cast in casts:
            while len(cast.running) < AT_ONCE // len(casts) and now < end:
                cast.begin(_story(f"soak-{number}"))
                number += 1
            for told, story in cast.rested():
                steps += len(story.replies) if now < end else 0
                # What it left inside is not asked for: that would hold its sandbox.
                report.breaches(told, oracle.judge_log(told, story))
        report.progress(f"{number} conversations, {steps} steps")
        time.sleep(0.1)
        if now > end + REST_SECONDS:
            report.fault("; ".join(f"never comes to rest: {cast.where()}" for cast in casts))
            break
    return steps


def _story(mark: str) -> Story:
    steps = [
        (says(f"Step {n}.") + calls(bash=leaves(f"{mark}.{n}"))).slowly(ftd=MODEL_MS)
        for n in range(STEPS)
    ]
    return Story(mark, [*steps, says(DONE).slowly(ftd=MODEL_MS)])


def _until_none_left(ground: Ground) -> int:
    """How many sandboxes still run, after a while."""
    end = time.monotonic() + REST_SECONDS
    while (left := sum(map(len, ground.sandboxes.lives().values()))) and time.monotonic() < end:
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
def _watching(pids: dict[str, int], port: int, cast: Cast) -> Iterator[Watched]:
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
            headers = {"Authorization": f"Bearer {cast.token}"}
            line.request("GET", cast.conversations, headers=headers)
            line.getresponse().read()
            line.close()
            watched.api_ms.append(1000 * (time.monotonic() - began))

    threads = [threading.Thread(target=each) for each in (sample, ask)]
    _ = cast.token  # made once, here
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


def _tell(watched: Watched, report: Report, seconds: float) -> None:
    p95 = percentile(watched.api_ms, 0.95)
    report.figures["API"] = f"p95 {p95:.0f} ms"
    if p95 > API_P95_MS:
        report.fault(f"the API took {p95:.0f} ms at p95, {API_P95_MS} ms are promised")
    for name, samples in watched.resident_mib.items():
        # From the second quarter on: the first one loads what is used for the first time.
        early, late = _quarters(samples)
        a_minute = (statistics.mean(late) - statistics.mean(early)) / (seconds / 60 / 2)
        report.figures[name] = f"{late[-1]:.0f} MiB, {a_minute:+.2f} a minute"
        if seconds < SECONDS:
            continue  # a minute shows no trend: everything is used for the first time
        if a_minute > GROWTH_MIB_A_MINUTE:
            report.fault(f"{name} grows by {a_minute:.2f} MiB a minute")
        early, late = _quarters(watched.descriptors[name])
        if max(late) > max(early) + MORE_DESCRIPTORS:
            report.fault(f"{name} had {max(early)} descriptors open, and {max(late)} in the end")


def _quarters(samples: list[float] | list[int]) -> tuple[list[float], list[float]]:
    """The second and the last."""
    quarter = max(1, len(samples) // 4)
    return list(samples[quarter : 2 * quarter]), list(samples[-quarter:])
