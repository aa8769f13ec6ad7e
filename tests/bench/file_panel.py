"""Time from a request for a folder of 10,000 files to its answer: a web thread, a row, a worker, the sandbox, and back."""

from __future__ import annotations

import time
from pathlib import Path

from django.test import override_settings
from rest_framework.test import APIClient

from tests.bench.figures import Figure, percentile
from tests.support.flow import Flow
from tests.support.model_script import calls, says

FILES = 10_000
REQUESTS = 15
AT_MOST_MS = 500


def ten_thousand(folder: Path) -> Figure:
    """A folder of 10,000 files in a running sandbox, against one with ten."""
    folder.mkdir(parents=True, exist_ok=True)
    with override_settings(ALLOWED_HOSTS=["testserver"]), Flow(folder) as flow:
        script = f"mkdir many few; cd many; touch $(seq -f 'f%05g' {FILES}); touch ../few/{{1..10}}"
        conversation = flow.ask("Make files", [calls(bash=script), says("Made.")])
        client = APIClient()
        client.force_login(flow.world.owner.user)
        project = conversation.row.project_id
        address = f"/api/v1/projects/{project}/conversations/{conversation.id}/files/"
        ours, few = _p95(client, address, "many", FILES), _p95(client, address, "few", 10)
    what = f"a folder of {FILES:,} files, p95, against one of ten; bubblewrap"
    return Figure("file-panel", ours, few, "ms", what, at_most=AT_MOST_MS)


def _p95(client: APIClient, address: str, folder: str, files: int) -> float:
    samples = []
    for _ in range(REQUESTS):
        began = time.perf_counter()
        answer = client.get(address, {"path": folder})
        samples.append((time.perf_counter() - began) * 1000)
        assert len(answer.json()["entries"]) == files
    return percentile(samples, 0.95)
