"""An agent of the demo project whose model answers when the test lets it, so that its run cannot end too early."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Product
from tests.support.model_script import Scripted, calls
from tests.support.model_server import ModelServer

NAME = "Vera"
LONGEST_SECONDS = 120


class HeldModel:
    """The agent at ``address``. Its model gives ``reply`` to each request, not before ``let_go()``."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.reply: Scripted = calls(bash="true")
        self._go = threading.Event()

    def hold(self) -> None:
        self._go.clear()

    def let_go(self) -> None:
        self._go.set()

    def start(self, page: Page, text: str = "Look around the sandbox") -> str:
        """Write to the agent on its page; gives the URL of the new conversation."""
        page.goto(f"{self.address}?new")
        page.get_by_label("Message", exact=True).fill(text)
        page.get_by_role("button", name="Send").click()
        page.wait_for_url("**/conversations/**")
        return page.url

    def answer(self, _request: dict[str, Any]) -> Scripted:
        """Called in the thread of the model server, which has nothing else to do."""
        assert self._go.wait(LONGEST_SECONDS)
        return self.reply


@contextmanager
def held_model(product: Product) -> Iterator[HeldModel]:
    """The agent is hired, and retired at the end."""
    with ModelServer() as server:
        seed = "from tests.browser import held_model_seed as seed; "
        address = product.seeds.run(f"{seed}print(seed.hire({NAME!r}, {server.base_url!r}))")
        model = HeldModel(address.strip())
        server.script(model.answer)
        try:
            yield model
        finally:
            model.let_go()
            product.seeds.run(f"{seed}seed.retire({NAME!r})")


@pytest.fixture
def vera(product: Product, after_pages: ExitStack) -> HeldModel:
    return after_pages.enter_context(held_model(product))
