"""Skills from git on the page of an agent: looked at, read, added, checked and taken at a newer commit."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser import actions
from tests.browser.conftest import PageWatcher
from tests.browser.test_accessibility import violations
from tests.browser.test_appearance import LOOKS
from tests.browser.test_mcp_servers import open_settings
from tests.support.git_server import GitServer

PHONE = {**LOOKS["phone-dark"], "viewport": {"width": 320, "height": 720}}
BOATS = "---\nname: boats\ndescription: Builds boats.\n---\nHow to build\u200b boats.\n".encode()
MARKET = (
    b'{"name": "harbor", "plugins": [{"name": "sewing", "description": "S", "source": "./sails"}]}'
)
FILES = {
    "boats/SKILL.md": BOATS,
    "boats/build.py": b"print('boat')\n",
    "sails/SKILL.md": b"---\nname: sails\ndescription: Sews sails.\n---\nSew with care.\n",
    "bad/SKILL.md": b"no front matter",
    "marketplace.json": MARKET,
}


def open_source(page: Page, address: str) -> Locator:
    """Open the settings at the form for skills from git; gives it."""
    page.goto(address)
    found = page.locator("#skills > details[data-skill-source]")
    found.locator("> summary").click()
    return found


def look(source: Locator, url: str) -> None:
    """Type an address and press Enter."""
    field = source.get_by_label("Address of the repository")
    field.fill(url)
    field.press("Enter")


def shot(page: Page, where: Path, name: str) -> None:
    page.locator("#skills").screenshot(path=where / f"skills-{name}.png")


def test_skills_of_a_repository_are_read_added_and_updated_by_a_click(
    open_browser: Callable[..., BrowserContext],
    watched: PageWatcher,
    pictures: Path,
    tmp_path: Path,
) -> None:
    page = open_browser(**LOOKS["desktop-light"]).new_page()
    address = open_settings(page).replace("#mcp-servers", "#skills")
    with GitServer(tmp_path / "git", header="") as server:
        server.create("kit", FILES)
        source = open_source(page, address)
        look(source, "http://git.example.org/team/kit")
        expect(source).to_contain_text("Write https://.")
        watched.leave_out(400)
        look(source, server.url("kit"))
        expect(source).to_contain_text("3 skills at commit")
        expect(source).to_contain_text("How to build‹U+200B› boats.")
        expect(source).to_contain_text("Programs that the agent can run in its sandbox: build.py.")
        expect(source.get_by_label("Add bad")).to_be_disabled()
        expect(source.get_by_role("button", name="Choose skills to add")).to_be_disabled()
        shot(page, pictures, "found")
        assert violations(page) == []
        source.get_by_role("button", name="Choose its skill").click()
        expect(source.get_by_label("Add sails")).to_be_checked()
        source.get_by_label("Add boats").press("Space")
        with page.expect_navigation():
            source.get_by_role("button", name="Add 2 skills").click()
        boats = page.locator("#skills > details", has_text="Builds boats.")
        expect(boats).to_contain_text("From git")

        commit = server.commit("kit", {"boats/SKILL.md": BOATS + b"Then sail.\n"})
        boats.locator("> summary").click()
        boats.get_by_role("button", name="Check for updates").click()
        expect(boats.locator(".diff .add")).to_contain_text("Then sail.")
        expect(boats).to_contain_text(f"The branch is at {commit[:12]} now.")
        shot(page, pictures, "update")
        assert violations(page) == []
        small = open_browser(**PHONE).new_page()
        see_on_a_phone(small, pictures, address, server.url("kit"))
        with page.expect_navigation():
            boats.get_by_role("button", name=f"Take commit {commit[:12]}").click()
        boats.locator("> summary").click()
        expect(boats).to_contain_text(commit[:12])
        expect(boats.get_by_label("Text Markdown")).to_have_value(
            "How to build\u200b boats.\nThen sail.\n"
        )
    for name in ("boats", "sails"):
        remove(page, name)


def see_on_a_phone(page: Page, pictures: Path, address: str, url: str) -> None:
    source = open_source(page, address)
    look(source, url)
    expect(source).to_contain_text("3 skills at commit")
    expect(source).to_contain_text("The agent has a skill of this name.")
    actions.has_no_sideways_scroll(page)
    assert violations(page) == []
    shot(page, pictures, "phone")


def remove(page: Page, name: str) -> None:
    row = page.locator("#skills > details", has=page.locator(f"summary b:text-is('{name}')"))
    if not row.evaluate("row => row.open"):
        row.locator("> summary").click()
    row.get_by_role("button", name="Delete").click()
    with page.expect_navigation():
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
