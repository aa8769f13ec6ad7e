"""The page of the hosts that a conversation has reached: in every look, on a phone, and live."""

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import actions
from tests.browser.conftest import Product
from tests.browser.test_accessibility import violations
from tests.browser.test_rows import made
from tests.browser.test_usage import LOOKS_OF_USAGE


def open_network(page: Page, conversation: str) -> None:
    page.goto("/")
    page.goto(f"{page.url}conversations/{conversation}/network/")


def reach(product: Product, conversation: str, host: str) -> None:
    code = f"from tests.browser import network_seed as n; n.reach('{conversation}', '{host}')"
    product.seeds.run(code)


def test_network_is_seen_in_every_look_and_grows_while_it_is_open(
    open_browser: Callable[..., BrowserContext], product: Product
) -> None:
    conversation = made(product, "conversation", "network_seed")
    without = made(product, "without", "network_seed")
    for name, look in LOOKS_OF_USAGE.items():
        page = open_browser(**look).new_page()
        open_network(page, conversation)
        expect(page.get_by_text("packages.example", exact=True)).to_be_visible()
        expect(page.locator("main")).to_contain_text("is not on the list of hosts of this project")
        actions.has_no_sideways_scroll(page)
        assert violations(page) == [], name
        page.screenshot(path=product.pictures / f"network-{name}.png")
        open_network(page, without)
        expect(page.get_by_role("heading", name="No connections yet")).to_be_visible()
        assert violations(page) == [], f"{name}, empty"
        reach(product, without, f"{name}.example")
        expect(page.get_by_text(f"{name}.example", exact=True)).to_be_visible(timeout=20_000)
        assert violations(page) == [], f"{name}, after a refresh"
        page.close()
        without = made(product, "without", "network_seed")
