"""The people of a workspace: join by a link, become an owner, leave; and two people who change one thing at once."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import actions
from tests.browser.conftest import PageWatcher, Product
from tests.browser.test_accessibility import violations

PHONE = {"viewport": {"width": 320, "height": 740}, "has_touch": True, "is_mobile": True}


@pytest.fixture
def workspace(page: Page) -> Page:
    page.goto("/")
    page.wait_for_url("**/projects/**")
    page.get_by_title("Switch project").click()
    page.get_by_role("menuitem", name="People of the workspace").click()
    page.wait_for_url("**/workspaces/**")
    return page


def test_person_joins_by_a_link_becomes_an_owner_and_is_removed(
    workspace: Page, chromium: Browser, product: Product
) -> None:
    workspace.get_by_label("Note").fill("For Mei")
    workspace.get_by_role("button", name="Make a link").click()
    shown = workspace.get_by_label("The link, shown only now")
    expect(shown).to_have_value(re.compile("/join/"))
    assert violations(workspace) == []
    context = chromium.new_context(base_url=product.url)
    invited = context.new_page()
    invited.goto(shown.input_value())
    invited.get_by_label("Username").fill("mei")
    invited.get_by_label("Your name").fill("Mei Chen")
    invited.get_by_label("Password").fill("a long password 7")
    invited.get_by_role("button", name="Create account and join").click()
    invited.wait_for_url(f"{product.url}/")
    invited.get_by_role("link", name="People of").click()
    expect(invited.locator("#main")).to_contain_text("Its owners invite and remove people")
    expect(invited.get_by_role("combobox")).to_have_count(0)
    context.close()
    workspace.reload()
    role = workspace.get_by_label("Role of mei")
    role.focus()
    with workspace.expect_navigation():
        role.select_option("owner")
    expect(role).to_have_value("owner")
    expect(role).to_be_focused()
    workspace.get_by_role("button", name="Remove mei").click()
    workspace.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(workspace.locator("#main")).not_to_contain_text("Mei Chen")


def test_invitation_is_revoked(workspace: Page) -> None:
    workspace.get_by_label("Note").fill("For nobody")
    workspace.get_by_role("button", name="Make a link").click()
    expect(workspace.get_by_label("The link, shown only now")).to_be_visible()
    workspace.reload()
    workspace.get_by_role("button", name="Revoke For nobody").click()
    workspace.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(workspace.locator("#main")).not_to_contain_text("For nobody")


def test_names_that_two_owners_write_are_both_shown(
    workspace: Page, open_browser: Callable[..., BrowserContext], watched: PageWatcher
) -> None:
    other = open_browser(**PHONE).new_page()
    other.goto(workspace.url)
    actions.has_no_sideways_scroll(other)
    before = workspace.get_by_label("Name", exact=True).input_value()
    for page, name in ((workspace, "Mine"), (other, "Theirs")):
        page.get_by_label("Name", exact=True).fill(name)
    with other.expect_navigation():
        other.get_by_role("button", name="Save").click()
    workspace.get_by_role("button", name="Save").click()
    expect(workspace.locator("#main")).to_contain_text("It is now: Theirs")
    expect(workspace.get_by_label("Name", exact=True)).to_have_value("Mine")
    workspace.get_by_label("Name", exact=True).fill(before)
    with workspace.expect_navigation():
        workspace.get_by_role("button", name="Save").click()
    expect(workspace.get_by_label("Name", exact=True)).to_have_value(before)
    watched.leave_out(412)


def test_roles_that_two_people_choose_are_both_shown(
    page: Page, open_browser: Callable[..., BrowserContext], watched: PageWatcher
) -> None:
    page.goto("/")
    page.goto(page.url + "team/")
    other = open_browser().new_page()
    other.goto(page.url)
    before = page.get_by_label("Role of Guide").input_value()
    with other.expect_navigation():
        other.get_by_label("Role of Guide").select_option(label="Manager")
    page.get_by_label("Role of Guide").select_option(label="Viewer")
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("It is now “Manager”. You chose “Viewer”.")
    with page.expect_navigation():
        question.get_by_role("button", name="Keep Manager").click()
    with page.expect_navigation():
        page.get_by_label("Role of Guide").select_option(before)
    watched.leave_out(412)
