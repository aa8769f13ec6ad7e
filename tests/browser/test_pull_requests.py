"""The branches and pull requests on the page of a task, and the page of repositories, in every look."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import actions
from tests.browser.conftest import Product
from tests.browser.pull_requests_seed import LONG, SERVER
from tests.browser.test_accessibility import violations
from tests.browser.test_appearance import LOOKS

STATES = {"totals": "Open", "rounding": "Merged", "wrong-way": "Closed", LONG: "Open"}


def seed(product: Product, function: str) -> str:
    code = f"from tests.browser import pull_requests_seed as s; print(s.{function}())"
    return product.seeds.run(code).split()[-1]


def open_task(page: Page, number: str) -> None:
    page.goto("/")
    page.goto(f"{page.url}tasks/{number}/")


def expect_branches(page: Page) -> None:
    found = page.locator(".branches")
    for name, state in STATES.items():
        row = found.locator("li", has=page.get_by_text(name, exact=True))
        expect(row).to_contain_text(state)
        link = row.get_by_role("link")
        expect(link).to_have_attribute("rel", "noopener noreferrer")
        expect(link).to_have_attribute("target", "_blank")
        assert str(link.get_attribute("href")).startswith(f"{SERVER}/team/shop/pulls/")
    # Without a pull request there is no link, and an address that is no web page gets none.
    for name in ("only-pushed", "odd-address"):
        row = found.locator("li", has=page.get_by_text(name, exact=True))
        expect(row).to_be_visible()
        expect(row.get_by_role("link")).to_have_count(0)


def test_pull_requests_of_a_task_are_seen_with_their_states_in_every_look(
    open_browser: Callable[..., BrowserContext], product: Product
) -> None:
    number = seed(product, "task")
    for name, look in LOOKS.items():
        page = open_browser(**look).new_page()
        open_task(page, number)
        expect_branches(page)
        actions.has_no_sideways_scroll(page)
        found = [each for each in violations(page) if "mention an agent" not in each]
        assert found == [], name  # without the field of comments, which is no part of this
        page.locator(".branches").scroll_into_view_if_needed()
        page.screenshot(path=product.pictures / f"pull-requests-{name}.png")
        page.close()


def open_repositories(page: Page) -> None:
    page.goto("/")
    page.goto(f"{page.url}repositories/")


def test_page_without_repositories_says_what_to_do_in_every_look(
    open_browser: Callable[..., BrowserContext], product: Product
) -> None:
    seed(product, "no_repositories")
    for name, look in LOOKS.items():
        page = open_browser(**look).new_page()
        open_repositories(page)
        expect(page.get_by_role("heading", name="No repository is linked yet")).to_be_visible()
        expect(page.locator("main")).to_contain_text("Link one below by its HTTPS address")
        expect(page.get_by_label("Address", exact=True)).to_be_visible()
        expect(page.locator("main")).to_contain_text("No connections yet")
        actions.has_no_sideways_scroll(page)
        assert violations(page) == [], name
        page.screenshot(path=product.pictures / f"no-repositories-{name}.png")
        page.close()


def test_repositories_are_seen_in_every_state_and_look(
    open_browser: Callable[..., BrowserContext], product: Product
) -> None:
    seed(product, "repositories")
    for name, look in LOOKS.items():
        page = open_browser(**look).new_page()
        open_repositories(page)
        for repository, words in {
            "revoked": "does not accept the credentials: token is revoked",
            "unreachable": "did not answer within 15 s",
        }.items():
            row = page.locator("details", has=page.locator("summary", has_text=repository))
            expect(row.locator("summary").first).to_contain_text("Does not work")
            row.locator("summary").first.click()
            expect(row).to_contain_text(words)
        expect(page.locator("summary", has_text="docs")).to_contain_text("Not tried yet")
        actions.has_no_sideways_scroll(page)
        assert violations(page) == [], name
        page.screenshot(path=product.pictures / f"repositories-{name}.png", full_page=True)
        page.close()
