"""The files beside a conversation: tree, preview, changes, diff, upload, keyboard, phone and dark mode."""

from collections.abc import Callable
from uuid import UUID

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import actions
from tests.browser.conftest import Product
from tests.browser.test_accessibility import violations
from tests.browser.test_todo import STILL
from tests.support import runners

ANSWER_MS = 30_000  # a sandbox may have to start first


def open_files(page: Page, show: str) -> None:
    page.locator(".topbar").get_by_role("button", name="Files").click()
    panel = page.get_by_role("complementary", name="Files")
    panel.get_by_role("button", name=show, exact=False).first.click()


def drop(page: Page, *files: tuple[str, str]) -> None:
    """Drop files with these names and texts on the composer."""
    page.evaluate(
        """(files) => {
            const carried = new DataTransfer();
            for (const [name, text] of files) carried.items.add(new File([text], name));
            const event = new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true });
            document.querySelector(".composer").dispatchEvent(event);
        }""",
        files,
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_person_uploads_sends_reads_and_compares_files(
    open_browser: Callable[..., BrowserContext], product: Product, theme: str
) -> None:
    page = open_browser(color_scheme=theme).new_page()
    page.clock.install()
    actions.start(page, actions.SMALL_PROGRAM)
    actions.wait_until(page, "finished")

    drop(
        page,
        ("notes.md", "# Boats\n\n<img src=x onerror=alert(1)>**strong**\n"),
        ("b.svg", "<svg/>"),
    )
    chips = page.get_by_role("list", name="Files of this message")
    expect(chips.locator(".is-done")).to_have_count(2, timeout=ANSWER_MS)
    page.screenshot(path=product.pictures / f"files-upload-{theme}.png")
    actions.write(page, "Look at these")
    attached = page.get_by_role("list", name="Attached files")
    expect(attached.get_by_role("link")).to_have_text(["notes.md", "b.svg"])
    expect(chips).not_to_be_visible()
    actions.wait_until(page, "finished")

    open_files(page, "Changes")
    panel = page.get_by_role("complementary", name="Files")
    change = panel.get_by_role("list", name="Changed files").get_by_role("button")
    expect(change.filter(has_text="notes.md")).to_be_visible(timeout=ANSWER_MS)
    change.filter(has_text="notes.md").click()
    expect(panel.get_by_text("# Boats")).to_be_visible(timeout=ANSWER_MS)
    assert violations(page) == []
    page.screenshot(path=product.pictures / f"files-diff-{theme}.png")

    panel.get_by_role("button", name="Files", exact=True).click()
    tree = panel.get_by_role("tree")
    expect(tree.get_by_role("treeitem").filter(has_text="notes.md")).to_be_visible(
        timeout=ANSWER_MS
    )
    tree.focus()
    with actions.stopped_clock(page):
        page.keyboard.type("notes")
    page.keyboard.press("Enter")
    expect(panel.locator(".files-prose strong")).to_have_text("strong", timeout=ANSWER_MS)
    expect(panel.locator(".files-prose img")).to_have_count(0)
    panel.get_by_role("button", name="Put the path into the message").click()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("`notes.md`")
    assert violations(page) == []
    with page.expect_download() as download:
        panel.get_by_role("link", name="Download all files").click()
    assert download.value.suggested_filename == "files.zip"

    page.set_viewport_size({"width": 320, "height": 700})
    page.wait_for_function(STILL)
    actions.has_no_sideways_scroll(page)
    page.screenshot(path=product.pictures / f"files-phone-{theme}.png")
    panel.get_by_role("button", name="Back to the list").click()
    expect(tree).to_be_visible()
    assert violations(page) == []
    panel.get_by_role("button", name="Close the files").click()
    expect(panel).not_to_be_visible()


def test_failed_upload_keeps_its_file_and_the_message(page: Page, watched) -> None:
    actions.start(page, actions.SMALL_PROGRAM)
    actions.wait_until(page, "finished")
    drop(page, ("large.bin", "x" * (21 << 20)))
    chips = page.get_by_role("list", name="Files of this message")
    expect(chips.get_by_text("holds at most 20 MiB")).to_be_visible(timeout=ANSWER_MS)
    actions.write(page, "Look at it")
    expect(page.get_by_text("Wait until the files are uploaded")).to_be_visible()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("Look at it")
    chips.get_by_role("button", name="Remove large.bin").click()
    expect(chips).not_to_be_visible()
    watched.leave_out(413)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_folder_of_ten_thousand_files_is_scrolled_searched_and_reached_to_its_end(
    open_browser: Callable[..., BrowserContext], product: Product, theme: str
) -> None:
    page = open_browser(color_scheme=theme).new_page()
    page.clock.install()
    conversation = actions.start(page, actions.SMALL_PROGRAM).rstrip("/").rpartition("/")[2]
    actions.wait_until(page, "finished")
    many = runners.workspace_file(product.installation.data, UUID(conversation), "many")
    many.mkdir()
    for number in range(10_000):
        (many / f"f{number:05}.txt").touch()

    open_files(page, "Files")
    panel = page.get_by_role("complementary", name="Files")
    tree = panel.get_by_role("tree")
    row = tree.get_by_role("treeitem")
    row.filter(has_text="many").click(timeout=ANSWER_MS)
    expect(row.filter(has_text="f00000.txt")).to_be_visible(timeout=ANSWER_MS)
    page.screenshot(path=product.pictures / f"files-many-{theme}.png")
    assert row.count() < 100

    tree.evaluate("tree => (tree.scrollTop = tree.scrollHeight / 2)")
    expect(row.filter(has_text="f05000.txt")).to_be_attached(timeout=ANSWER_MS)
    page.screenshot(path=product.pictures / f"files-many-middle-{theme}.png")
    tree.focus()
    with actions.stopped_clock(page):
        page.keyboard.type("f0777")
    active = tree.locator(".tree-row.is-active")
    expect(active).to_contain_text("f07770.txt", timeout=ANSWER_MS)
    panel.get_by_role("button", name="Refresh").click()
    tree.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(active).to_contain_text("f00000.txt", timeout=ANSWER_MS)
    page.keyboard.press("ArrowLeft")
    expect(active).to_contain_text("many")
    assert violations(page) == []

    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function(STILL)
    actions.has_no_sideways_scroll(page)
    page.screenshot(path=product.pictures / f"files-many-phone-{theme}.png")
