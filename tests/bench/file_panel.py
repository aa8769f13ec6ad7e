"""Time from a request for a folder of 10,000 files to its answer: a web thread, a row, a worker, the sandbox, and back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.test import override_settings
from rest_framework.test import APIClient

from tests.bench.figures import Figure, percentile
from tests.support.flow import Flow
from tests.support.model_script import calls, says

FILES = 10_000
PAGE = 1000  # as paca/web/static/paca/files/tree.js loads them
REQUESTS = 40  # so that the slowest two do not decide
AT_MOST_MS, WHOLE_AT_MOST_MS = 500, 1000


def first_page(folder: Path) -> Figure:
    """What the panel loads when somebody opens the folder, or goes to any place in it, against a folder of ten files."""
    with _folders(folder) as (client, address):
        ours = _p95(client, address, "many", PAGE, limit=PAGE)
        few = _p95(client, address, "few", 10, limit=PAGE)
    what = f"the rows in sight of a folder of {FILES:,} files (a page of {PAGE:,}), p95, against a folder of ten; bubblewrap"
    return Figure("file-panel", ours, few, "ms", what, at_most=AT_MOST_MS)


def whole(folder: Path) -> Figure:
    """All entries at once, as the panel loads them to look for a typed name, against its pages one after the other."""
    with _folders(folder) as (client, address):
        ours = _p95(client, address, "many", FILES)
        pages = FILES // PAGE * _p95(client, address, "many", PAGE, limit=PAGE, offset=FILES - PAGE)
    what = (
        f"all rows of {FILES:,} files in one answer, p95, against {FILES // PAGE} pages; bubblewrap"
    )
    return Figure("file-panel-whole", ours, pages, "ms", what, at_most=WHOLE_AT_MOST_MS)


@contextmanager
def _folders(folder: Path) -> Iterator[tuple[APIClient, str]]:
    """A running sandbox with a folder of 10,000 files and one of ten: a client, and the address of its files."""
    folder.mkdir(parents=True, exist_ok=True)
    with override_settings(ALLOWED_HOSTS=["testserver"]), Flow(folder, name=folder.name) as flow:
        script = f"mkdir many few; cd many; touch $(seq -f 'f%05g' {FILES}); touch ../few/{{1..10}}"
        conversation = flow.ask("Make files", [calls(bash=script), says("Made.")])
        client = APIClient()
        client.force_login(flow.world.owner.user)
        project = conversation.row.project_id
        address = f"/api/v1/projects/{project}/conversations/{conversation.id}/"
        assert client.get(address).status_code == 200  # a server has loaded its pages by then
        yield client, f"{address}files/"


def _p95(client: APIClient, address: str, folder: str, files: int, **query: int) -> float:
    samples = []
    for _ in range(REQUESTS):
        began = time.perf_counter()
        answer = client.get(address, {"path": folder, **query})
        samples.append((time.perf_counter() - began) * 1000)
        assert len(answer.json()["entries"]) == files
    return percentile(samples, 0.95)
