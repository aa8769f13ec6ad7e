"""The JavaScript tests in Chromium."""

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.installation.manage_process import ROOT

FOLDER = ROOT / "tests" / "web" / "js"
TESTS = sorted([*FOLDER.glob("*.test.js"), *FOLDER.glob("*.browser.js")])


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the files of the repository without a log."""

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture(scope="module")
def files() -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(ROOT))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name)
def test_module_passes_its_tests_in_chromium(chromium: Browser, files: str, path: Path) -> None:
    page = chromium.new_page()
    page.goto(files + "tests/web/js/")
    results = page.evaluate(
        """async (address) => {
          const { outcomes } = await import(new URL("harness.js", address));
          await import(address);
          return await Promise.all(outcomes);
        }""",
        f"{files}tests/web/js/{path.name}",
    )
    page.close()
    assert results
    assert [result for result in results if result["error"]] == []
