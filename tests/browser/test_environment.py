"""The environment of an agent, by keyboard: variables, and setup commands that are followed to their end."""

import os
import re
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import actions
from tests.browser.conftest import PageWatcher, Product
from tests.browser.test_accessibility import violations
from tests.browser.test_appearance import LOOKS
from tests.support.flow import wait_until

PHONE = {**LOOKS["phone-dark"], "viewport": {"width": 320, "height": 720}}
NAME = "Nora"
HOLD = f"sleep {86_400 + os.getpid()}"
FAILING = f"echo begun; {HOLD}; echo no such package; exit 3"
VALUE = "postgres://nora:a-long-secret@db.example/one"


@pytest.fixture
def settings(product: Product, after_pages: ExitStack) -> str:
    """The address of the settings of an agent of its own: other tests start sandboxes of Guide."""
    seed = "from tests.browser import held_model_seed as seed; "
    address = product.seeds.run(f"{seed}print(seed.hire({NAME!r}))").strip()
    after_pages.callback(product.seeds.run, f"{seed}seed.retire({NAME!r})")
    return address + "settings/"


def end_hold() -> None:
    """End the command that holds the build, and nothing else."""

    def pids() -> list[int]:
        line = HOLD.replace(" ", "\0").encode() + b"\0"
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "cmdline").read_bytes() == line:
                    found.append(int(folder.name))
            except OSError:  # it has ended
                continue
        return found

    for pid in wait_until(pids, 30):
        os.kill(pid, signal.SIGTERM)


def keys(page: Page, *pressed: str) -> None:
    for key in pressed:
        page.keyboard.press(key)


def write_setup(page: Page, commands: str) -> None:
    """Write and save the setup commands; afterwards the page is loaded again."""
    field = page.locator("#setup-commands")
    expect(field).to_be_focused()
    keys(page, "Control+a")
    page.keyboard.insert_text(commands)
    with page.expect_navigation():
        keys(page, "Control+s")
    expect(field).to_have_value(commands)
    expect(field).to_be_focused()


def shot(page: Page, where: Path, name: str) -> None:
    page.locator("#environment").screenshot(path=where / f"environment-{name}.png")


def test_setup_commands_are_saved_and_followed_live_to_their_end_by_keyboard(
    open_browser: Callable[..., BrowserContext], settings: str, pictures: Path
) -> None:
    context = open_browser(**LOOKS["desktop-light"])
    page = context.new_page()
    page.goto(settings)
    setup = page.locator("#setup")
    expect(setup).to_contain_text("No setup commands yet.")
    shot(page, pictures, "empty")
    assert violations(page) == []
    setup.get_by_role("link", name="Setup").focus()
    keys(page, "Enter")
    write_setup(page, FAILING)
    expect(setup).to_contain_text("Not run yet.")
    expect(setup).to_contain_text("They reach no host")

    talk = context.new_page()
    talk.goto(settings)
    talk.get_by_role("link", name="Start a conversation").focus()
    keys(talk, "Enter")
    field = talk.get_by_label("Message", exact=True)
    field.fill("Look around the sandbox")
    keys(talk, "Enter")
    talk.wait_for_url("**/conversations/**")
    run = setup.locator("[data-state]")
    expect(run).to_contain_text("Running")
    expect(run).to_contain_text("of 15:00 at most")
    expect(run.locator("pre")).to_have_text("begun")
    shot(page, pictures, "running")
    small = open_browser(**PHONE).new_page()
    small.goto(settings)
    expect(small.locator("#setup pre").last).to_have_text("begun")
    assert violations(small) == []
    end_hold()
    for each in (page, small):
        expect(each.locator("#setup .pill")).to_have_text("Failed")
        expect(each.locator("#setup")).to_contain_text(
            "The setup of the sandbox failed (exit code 3)"
        )
        expect(each.locator("#setup pre").last).to_contain_text("no such package")
        assert violations(each) == []
    actions.has_no_sideways_scroll(small)
    shot(page, pictures, "failed")
    shot(small, pictures, "failed-phone")
    actions.wait_until(talk, "failed")
    expect(talk.locator(".flow")).to_contain_text("no such package")

    page.locator("#setup-commands").focus()
    write_setup(page, "echo installed")
    actions.write(talk, "Look around again")
    expect(setup.locator(".pill")).to_have_text("Ready")
    actions.wait_until(talk, "finished")
    setup.get_by_role("button", name="Build again").focus()
    keys(page, "Enter")
    expect(setup).to_contain_text("Not run yet.")


def test_variable_is_stored_shown_masked_and_sent_back_unchanged_by_keyboard(
    open_browser: Callable[..., BrowserContext],
    product: Product,
    settings: str,
    watched: PageWatcher,
    pictures: Path,
) -> None:
    page = open_browser(**LOOKS["desktop-dark"]).new_page()
    page.goto(settings)
    section = page.locator("#variables")
    expect(section).to_contain_text("No variables yet.")
    section.locator("summary", has_text="Add a variable").focus()
    keys(page, "Enter", "Tab")
    page.keyboard.type("DATABASE_URL")
    keys(page, "Tab")
    page.keyboard.type("production")
    keys(page, "Tab", "Tab", "Enter")
    value = section.get_by_label("Value")
    expect(value).to_be_focused()
    expect(section.locator(".field-error")).to_be_visible()
    watched.leave_out(400)
    keys(page, "Control+a")
    page.keyboard.type(VALUE)
    keys(page, "Tab", "Tab")
    with page.expect_navigation():
        keys(page, "Enter")
    row = section.locator("details", has_text="DATABASE_URL").first
    expect(row).to_contain_text("*** · secret")
    assert "a-long-secret" not in page.content()
    row.locator("summary").focus()
    keys(page, "Enter", "Tab")
    expect(row.locator("textarea")).to_be_focused()
    expect(row.locator("textarea")).to_have_value("***")
    assert violations(page) == []
    shot(page, pictures, "variable")
    small = open_browser(**PHONE).new_page()
    small.goto(settings)
    small.locator("#variables summary").first.click()
    actions.has_no_sideways_scroll(small)
    assert violations(small) == []
    shot(small, pictures, "variable-phone")
    keys(page, "Tab", "Tab")
    with page.expect_navigation():
        keys(page, "Enter")
    expect(row.locator("summary")).to_be_focused()
    assert stored_value(product) == VALUE
    keys(page, "Enter", "Tab", "Tab", "Tab", "Tab", "Enter")
    with page.expect_navigation():
        page.get_by_role("dialog").get_by_role("button", name="Delete").press("Enter")
    expect(section).to_contain_text("No variables yet.")


def stored_value(product: Product) -> str:
    """The only variable of the installation, decrypted."""
    code = "from paca.agents.models import EnvVar; from paca.agents import encryption; "
    printed = product.seeds.run(
        f"{code}print(encryption.decrypt(EnvVar.objects.get().encrypted_value))"
    )
    assert re.match(r"\S+$", printed.strip())
    return printed.strip()
