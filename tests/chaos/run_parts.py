"""Runs parts on one set-up: ``python -m tests.chaos.run_parts SETUP SEED PART...``."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from tests.chaos.report import Report
from tests.chaos.testbed import SQLITE, Testbed, open_testbed
from tests.installation.manage_process import ROOT

MODULES = {
    "R1": "random_kills",
    "R2": "named_points",
    "R3": "resuming",
    "R4": "outages",
    "R5": "viewing",
    "R7": "poison",
    "SOAK": "soaking",
    "STOP": "stopping",
    "RACE": "racing",
    "TOOLS": "project_writes",
    "ANSWERS": "answers",
    "SUMMARY": "summaries",
    "APPROVE": "approving",
    "FALLBACK": "switching",
    "BUDGET": "reaching_limits",
    "BACKGROUND": "background_work",
    "MCP": "mcp_calls",
    "REPOSITORY": "repository_work",
    "SETUP": "setting_up",
    "HELPERS": "helping",
    "TEAM": "teaming",
}


def main(name: str, seed: str, *parts: str) -> int:
    short = bool(os.environ.get("SHORT"))
    sandbox = os.environ.get("SANDBOX") or ("bubblewrap" if name == SQLITE else "docker")
    print(f"{name}, commands in {sandbox}", flush=True)
    reports = []
    with open_testbed(name, sandbox=sandbox) as testbed:
        if reason := _reason_against(testbed):
            print(
                f"{reason}\nNext step: scripts/docker_for_tests.sh and make sandbox-image, or SANDBOX=bubblewrap"
            )
            return 2
        for part in parts:
            # These modules need Django to be set up.
            run = import_module(f"tests.chaos.{MODULES[part]}").run
            reports.append(_report(run, testbed, part, seed=int(seed), short=short))
    for report in reports:
        print(f"  {report.line}", flush=True)
    return int(any(report.faults for report in reports))


def _reason_against(testbed: Testbed) -> str | None:
    import asyncio

    return asyncio.run(testbed.sandboxes.unavailable_reason())


def _report(
    run: Callable[..., None], testbed: Testbed, part: str, *, seed: int, short: bool
) -> Report:
    traces = ROOT / "artifacts" / "chaos" / f"{testbed.name}-{part}-{seed}"
    report = Report(f"{part} on {testbed.name}", traces)
    try:
        run(testbed, report, seed=seed, short=short)
    except BaseException as error:
        (traces / "traceback.txt").write_text(traceback.format_exc())
        report.fault(f"the part was aborted: {type(error).__name__}: {str(error)[:2000]}")
        if not isinstance(error, Exception):
            raise
    report.end()
    if not report.faults:
        _remove(traces)
    return report


def _remove(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
