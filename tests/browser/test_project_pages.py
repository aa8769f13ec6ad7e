"""Docs, team, agents, inbox and search: what a person does on the other pages of a project."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.browser import actions
from tests.browser.conftest import PageWatcher, Product
from tests.browser.test_accessibility import violations
from tests.browser.test_appearance import LOOKS
from tests.browser.test_task_page import open_new_task

TEXTS_OF_TEN_FRAMES = """async () => {
  const texts = new Set();
  for (let frame = 0; frame < 10; frame += 1) {
    await new Promise(requestAnimationFrame);
    texts.add(document.querySelector(".doc-in > .prose").textContent.trim());
  }
  return [...texts];
}"""


@pytest.fixture
def project(page: Page) -> Page:
    page.goto("/")
    page.wait_for_url("**/projects/**")
    return page


def go(page: Page, letter: str) -> None:
    page.locator(f"[data-go={letter}]").click()


def test_doc_is_written_versioned_and_restored(project: Page) -> None:
    go(project, "d")
    expect(project.locator(".doc-tree")).to_be_visible()
    project.get_by_role("button", name="New doc").first.click()
    project.get_by_role("textbox", name="Title").fill("How we release")
    project.get_by_role("textbox", name="Text").fill("First *version*.")
    project.get_by_role("button", name="Save").click()
    expect(project.locator(".doc-in .prose em")).to_have_text("version")
    project.get_by_role("button", name="Edit", exact=True).click()
    project.get_by_role("textbox", name="Text").fill("Another text.")
    project.keyboard.press("Control+s")
    expect(project.locator(".doc-in > .prose")).to_have_text("Another text.")
    project.get_by_role("button", name="Versions").click()
    restored = project.get_by_role("listitem").filter(has_text="Version 2")
    restored.get_by_role("button", name="Restore").click()
    project.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(project.locator(".doc-in .prose em")).to_have_text("version")


def test_saved_doc_stays_on_the_page_when_an_older_answer_comes_late(
    project: Page, open_browser: Callable[..., BrowserContext]
) -> None:
    go(project, "d")
    project.get_by_role("button", name="New doc").first.click()
    project.get_by_role("textbox", name="Text").fill("First.")
    project.get_by_role("button", name="Save").click()
    project.get_by_role("button", name="Edit", exact=True).click()
    project.get_by_role("textbox", name="Text").fill("Second.")
    held: list[Route] = []
    doc = re.compile(r"/api/v1/.*/docs/[^/]+/$")
    project.route(doc, lambda route: held.append(route), times=1)  # the next read of the doc
    other = open_browser().new_page()
    other.goto(project.url)
    with project.expect_request(doc):  # the first page hears of a change, and reads its doc again
        other.get_by_role("button", name="New doc").first.click()
    project.evaluate("1")  # a request is handed to its route after it is told
    [route] = held
    first = route.fetch()
    assert "First." in first.text()
    project.keyboard.press("Control+s")
    expect(project.locator(".doc-in > .prose")).to_have_text("Second.")
    with project.expect_event("requestfinished", lambda sent: sent == route.request):
        route.fulfill(response=first)
    assert project.evaluate(TEXTS_OF_TEN_FRAMES) == ["Second."]


def test_docs_are_put_into_folders(project: Page) -> None:
    go(project, "d")
    project.get_by_role("textbox", name="New folder").fill("Handbook")
    project.get_by_role("button", name="Add the folder").click()
    project.get_by_role("button", name="New doc in Handbook").click()
    project.get_by_role("textbox", name="Title").fill("Inside")
    project.get_by_role("button", name="Save").click()
    expect(project.get_by_role("button", name="Handbook", exact=True)).to_have_attribute(
        "aria-expanded", "true"
    )
    expect(project.locator(".doc-tree")).to_contain_text("Inside")


def test_person_joins_by_the_link_of_an_invitation(
    project: Page, chromium: Browser, product: Product, pictures
) -> None:
    go(project, "t")
    project.get_by_role("button", name="Make a link").click()
    shown = project.get_by_label("The link, shown only now")
    expect(shown).to_have_value(re.compile("/join/"))
    link = shown.input_value()
    context = chromium.new_context(base_url=product.url)
    invited = context.new_page()
    invited.goto(link)
    assert violations(invited) == []
    invited.screenshot(path=pictures / "join.png")
    invited.get_by_label("Username").fill("grace")
    invited.get_by_label("Your name").fill("Grace Hopper")
    invited.get_by_label("Password").fill("a long password 7")
    invited.get_by_role("button", name="Create account and join").click()
    invited.wait_for_url("**/projects/**")
    context.close()
    project.reload()
    expect(project.locator("#main")).to_contain_text("Grace Hopper")


def test_agent_is_hired_from_a_template_and_its_settings_are_changed(
    project: Page, watched: PageWatcher
) -> None:
    go(project, "a")
    project.get_by_role("link", name="Add an agent").click()
    project.get_by_text("Business analyst").click()
    # Behind Guide in every list, which the other tests expect to be the first agent.
    project.get_by_label("Name", exact=True).fill("Zoe Analyst")
    expect(project.get_by_label("Handle")).to_have_value("zoe-analyst")
    project.get_by_role("button", name="Add the agent").click()
    project.wait_for_url("**/settings/")
    expect(project.locator("#skills")).to_contain_text("ba")
    expect(project.locator("paca-preview")).to_contain_text("tokens")
    project.get_by_label("What it is good for").fill("Finds out what is needed.")
    project.get_by_label("Conversations at once").fill("99")
    project.get_by_role("button", name="Save changes").click()
    expect(project.locator("[aria-invalid=true]")).to_have_value("99")
    project.get_by_label("Conversations at once").fill("2")
    project.get_by_role("button", name="Save changes").click()
    expect(project.get_by_role("button", name="Save changes")).to_be_hidden()
    project.reload()
    expect(project.get_by_label("Conversations at once")).to_have_value("2")
    expect(project.get_by_label("What it is good for")).to_have_value("Finds out what is needed.")
    assert violations(project) == []
    watched.leave_out(400)


def test_skill_is_added_and_deleted(project: Page) -> None:
    go(project, "a")
    project.get_by_role("link", name="Settings of Guide").click()
    skills = project.locator("#skills")
    skills.get_by_text("Add a skill").click()
    skills.get_by_label("Name", exact=True).last.fill("house-style")
    skills.get_by_label("When to use it").last.fill("Before anything is written.")
    skills.get_by_label("Text").last.fill("Write short sentences.")
    skills.get_by_label("Keywords").last.fill("style\nwording")
    skills.get_by_role("button", name="Add the skill").click()
    added = skills.locator("details").filter(has_text="house-style")
    added.locator("summary").click()
    expect(added.get_by_label("Keywords")).to_have_value(re.compile("style\nwording"))
    added.get_by_role("button", name="Delete").click()
    project.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(skills).not_to_contain_text("house-style")


def test_status_is_added_ordered_and_deleted_and_a_sprint_is_run(project: Page) -> None:
    go(project, "s")
    project.get_by_text("New status").click()
    project.locator("#new-statuses").fill("Waiting")
    project.get_by_role("button", name="Add", exact=True).first.click()
    added = project.locator("details").filter(has=project.locator("b", has_text="Waiting"))
    added.locator("summary").click()
    with project.expect_navigation():
        added.get_by_role("button", name="Move up").click()
    added.locator("summary").click()
    added.get_by_role("button", name="Delete").click()
    project.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(project.locator("#main")).not_to_contain_text("Waiting")
    project.get_by_text("Plan a sprint").click()
    project.locator("#sprint-name").fill("Sprint 1")
    project.get_by_role("button", name="Plan it").click()
    project.get_by_role("button", name="Start", exact=True).click()
    project.get_by_role("button", name="Complete").click()
    expect(project.locator("#main")).to_contain_text("completed")


def test_palette_finds_a_task_and_goes_to_pages(project: Page) -> None:
    go(project, "b")
    open_new_task(project, "Palette finds me")
    there = project.url
    go(project, "h")
    # Its scripts listen once it is loaded.
    project.wait_for_url(re.compile(r"/projects/[0-9a-f-]+/$"))
    project.keyboard.press("Control+k")
    project.get_by_role("combobox", name="Search").fill("palette finds")
    expect(project.locator("#palette-list [aria-selected=true]")).to_contain_text(
        "Palette finds me"
    )
    project.keyboard.press("Enter")
    project.wait_for_url(there)
    project.keyboard.press("Control+k")
    project.get_by_role("combobox", name="Search").fill("team")
    project.locator("#palette-list").get_by_role("option", name="Team").click()
    project.wait_for_url("**/team/")


@pytest.mark.parametrize("name", LOOKS)
def test_pages_fit_every_screen(
    open_browser: Callable[..., BrowserContext], name: str, pictures
) -> None:
    page = open_browser(**LOOKS[name]).new_page()
    page.goto("/")
    project = page.url
    for path in ("docs/", "team/", "settings/", "inbox/", "agents/new/"):
        page.goto(project + path)
        page.wait_for_load_state("networkidle")
        actions.has_no_sideways_scroll(page)
        page.screenshot(path=pictures / f"{path.strip('/').replace('/', '-')}-{name}.png")
