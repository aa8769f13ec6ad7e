"""Going back in a conversation: a changed message, another try, and a fork at an answer."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser import actions


def test_message_is_changed_in_a_fork_and_the_first_conversation_stays(
    page: Page, pictures: Path
) -> None:
    first = actions.start(page)
    actions.wait_until(page, "finished")
    before = actions.stored_rows(page)
    message = page.locator(".entry.is-person").first
    asked = message.locator(".bubble").inner_text()
    message.hover()
    message.get_by_role("button", name="Edit and go on from here").click()
    field = page.get_by_role("dialog").get_by_role("textbox", name="Message")
    expect(field).to_have_value(asked)
    expect(field).to_be_focused()
    page.screenshot(path=pictures / "fork-message.png")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    message.get_by_role("button", name="Edit and go on from here").click()
    field.fill("Write a small program.")
    page.get_by_role("dialog").get_by_role("button", name="Send in a fork").click()
    page.wait_for_url(lambda url: "/conversations/" in url and url != first)
    expect(page.locator(".entry.is-person .bubble")).to_have_text("Write a small program.")
    actions.wait_until(page, "finished")
    page.get_by_role("link", name="Open it").click()
    page.wait_for_url(first)
    expect(page.locator(".turn-end")).to_contain_text("Done")
    assert actions.stored_rows(page) == before


def test_answer_is_tried_again_and_forked_by_keyboard(page: Page, pictures: Path) -> None:
    first = actions.start(page)
    actions.wait_until(page, "finished")
    asked = page.locator(".entry.is-person .bubble").inner_text()
    answer = page.locator(".entry.is-prose").last
    said = answer.locator(".prose").text_content() or ""
    answer.get_by_role("button", name="Fork from here").press("Enter")
    page.wait_for_url(lambda url: "/conversations/" in url and url != first)
    expect(page.locator(".divider")).to_contain_text("A copy up to here of")
    expect(page.locator(".entry.is-prose .prose").last).to_have_text(said)
    expect(page.locator(".turn-end")).to_contain_text("Done")
    actions.expect_title(page, "Fork of")
    page.screenshot(path=pictures / "fork.png")
    second = page.url
    answer = page.locator(".entry.is-prose").last
    answer.get_by_role("button", name="Try again").press("Enter")
    page.wait_for_url(lambda url: "/conversations/" in url and url not in (first, second))
    expect(page.locator(".entry.is-person .bubble")).to_have_text(asked)
    actions.wait_until(page, "finished")


def test_fork_tells_which_files_it_has_and_that_its_origin_was_deleted(
    page: Page, pictures: Path
) -> None:
    actions.start(page)
    actions.wait_until(page, "finished")
    origin = page.url
    page.locator(".entry.is-prose").last.get_by_role("button", name="Fork from here").click()
    page.wait_for_url(lambda url: "/conversations/" in url and url != origin)
    expect(page.get_by_role("link", name="Open it")).to_be_visible()
    expect(page.locator(".divider")).to_contain_text("Its files are copied when first used")
    fork = page.url
    base = origin.split("?")[0]
    status = page.evaluate(
        "async (id) => { const { urls, conversation } = JSON.parse(document.querySelector('paca-conversation')"
        ".getAttribute('page')); const headers = {"
        " 'X-CSRFToken': document.querySelector('meta[name=csrf-token]').content };"
        " const url = urls.api.replace(conversation.id, id);"
        " return (await fetch(url, { method: 'DELETE', headers })).status; }",
        base.rstrip("/").rpartition("/")[2],
    )
    assert status == 204
    page.goto(fork)
    expect(page.locator(".divider")).to_contain_text("It was deleted")
    expect(page.get_by_role("link", name="Open it")).to_have_count(0)
    page.screenshot(path=pictures / "fork-of-deleted.png")
    actions.write(page, "Look around the sandbox and tell me what is there.")
    expect(page.locator(".thread")).to_contain_text(
        "The fork goes on without files: the other conversation was deleted before its files were copied."
    )
