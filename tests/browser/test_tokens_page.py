"""A person makes a token, connects an editor with it, and revokes it; also on a phone and in the dark."""

import json
import re
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Product
from tests.browser.test_accessibility import violations
from tests.support.mcp_caller import McpCaller

PHONE = {"viewport": {"width": 320, "height": 740}, "has_touch": True, "is_mobile": True}


def test_token_of_the_page_connects_an_editor_until_it_is_revoked(page: Page) -> None:
    page.goto("/")
    page.wait_for_url("**/projects/**")
    page.get_by_title("Account").click()
    page.get_by_role("menuitem", name="API tokens").click()
    page.wait_for_url("**/tokens/")
    page.get_by_label("Name").fill("My editor")
    page.get_by_label("Name").press("Enter")
    shown = page.get_by_label("The token, shown only now")
    expect(shown).to_have_value(re.compile("^paca_"))
    settings = json.loads(page.get_by_role("textbox", name="Settings").input_value())
    address = urlsplit(settings["mcpServers"]["paca"]["url"])
    assert address.path == "/mcp/"
    assert address.port
    caller = McpCaller(address.port, shown.input_value())
    project = caller.tool("list_projects")[0]["id"]
    assert caller.tool("get_project", project=project)["members"]
    page.reload()
    expect(page.locator("#main")).to_contain_text("My editor")
    assert violations(page) == []
    page.get_by_role("button", name="Revoke My editor").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.locator("#main")).not_to_contain_text("My editor")
    assert caller.ask("tools/list")[0] == 401


def test_page_of_tokens_fits_a_phone_in_the_dark(
    page: Page, chromium: Browser, product: Product
) -> None:
    context = chromium.new_context(
        base_url=product.url,
        storage_state=page.context.storage_state(),
        color_scheme="dark",
        **PHONE,  # type: ignore[arg-type]
    )
    phone = context.new_page()
    phone.goto("/tokens/")
    expect(phone.get_by_role("heading", name="Connect an editor")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 320
    assert violations(phone) == []
    context.close()
