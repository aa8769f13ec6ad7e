"""The list of agents: its filters are links, work by keyboard, and fit a phone."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser import actions
from tests.browser.conftest import PageWatcher, Product
from tests.browser.test_accessibility import violations
from tests.browser.test_appearance import LOOKS
from tests.browser.test_check_ins import PHONE


@pytest.fixture
def crew(product: Product, after_pages: ExitStack) -> None:
    run(product, "hire")
    after_pages.callback(run, product, "retire")


def run(product: Product, function: str) -> None:
    product.seeds.run(f"from tests.browser import agents_seed; agents_seed.{function}()")


def test_status_is_changed_with_its_counts_and_planned_and_cancelled(
    crew: None, open_browser: Callable[..., BrowserContext], watched: PageWatcher, pictures: Path
) -> None:
    page = open_browser(**LOOKS["desktop-light"]).new_page()
    actions.start(page)
    actions.wait_until(page, "finished")
    page.goto(f"{page.url.split('/conversations/')[0]}/agents/?search=guide")
    page.locator(".agent-cols a[data-row]").click()
    expect(page.locator(".kpi", has_text="Runs")).to_contain_text("0 failed")
    page.screenshot(path=pictures / "agent-figures.png")
    page.goto(f"{page.url.split('/agents/')[0]}/agents/?search=rosa")
    page.get_by_label("Settings of Rosa").click()
    section = page.locator("#status")
    section.get_by_role("textbox", name="When").fill("2026-01-01T10:00")
    section.get_by_role("button", name="Change the status").click()
    expect(section.locator(".field-error")).to_contain_text("from now on")
    watched.leave_out(400)
    later = datetime.now(UTC) + timedelta(days=3)
    section.get_by_role("textbox", name="When").fill(f"{later:%Y-%m-%dT09:30}")
    section.get_by_role("button", name="Change the status").click()
    expect(section.locator(".notice")).to_contain_text("09:30 (UTC)")
    section.scroll_into_view_if_needed()
    page.screenshot(path=pictures / "status-planned.png")
    small = open_browser(**PHONE).new_page()
    small.goto(f"{page.url.split('#')[0]}#status")
    actions.has_no_sideways_scroll(small)
    assert violations(small) == []
    small.locator("#status").scroll_into_view_if_needed()
    small.screenshot(path=pictures / "status-phone.png")
    section.get_by_role("button", name="Cancel it").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the change").click()
    expect(section.locator(".notice")).to_have_count(0)
    section.get_by_role("button", name="Change the status").click()
    expect(section).to_contain_text("Rosa is paused")
    expect(page.locator("#changes")).to_contain_text("active to paused, graceful")


def test_persona_of_the_project_is_written_chosen_and_previewed(
    crew: None, open_browser: Callable[..., BrowserContext], pictures: Path
) -> None:
    page = open_browser(**LOOKS["desktop-light"]).new_page()
    page.goto("/")
    page.goto(f"{page.url.rstrip('/')}/agents/?search=rosa")
    page.get_by_label("Settings of Rosa").click()
    section = page.locator("#personas")
    section.locator("summary", has_text="Write a persona").click()
    section.get_by_label("Name").fill("House style")
    section.get_by_label("Begin with").select_option("plain-writer")
    section.get_by_role("button", name="Add the persona").click()
    section.locator("summary", has_text="House style").click()
    expect(section.get_by_label("Text").first).to_have_value(re.compile("You write plainly"))
    section.scroll_into_view_if_needed()
    page.screenshot(path=pictures / "personas.png")
    page.get_by_label("Persona", exact=True).select_option(label="House style")
    page.get_by_role("button", name="Save changes").click()
    expect(page.locator("paca-preview")).to_contain_text("Persona")
    expect(page.locator("#changes")).to_contain_text("agent.configured: persona")
    small = open_browser(**PHONE).new_page()
    small.goto(f"{page.url.split('#')[0]}#personas")
    actions.has_no_sideways_scroll(small)
    assert violations(small) == []


def test_assigned_work_waits_on_the_page_until_it_is_started(
    crew: None, product: Product, open_browser: Callable[..., BrowserContext], pictures: Path
) -> None:
    run(product, "hold")
    page = open_browser(**LOOKS["desktop-light"]).new_page()
    page.goto("/")
    page.goto(f"{page.url.rstrip('/')}/agents/?search=rosa")
    page.locator(".agent-cols a[data-row]").click()
    held = page.locator("section", has=page.get_by_role("heading", name="Waits for a start"))
    expect(held).to_contain_text("Tidy the shelves")
    page.screenshot(path=pictures / "held-agent.png")
    held.get_by_role("link").click()
    notice = page.locator(".composer-note", has_text="This work waits for a start")
    page.screenshot(path=pictures / "held-conversation.png")
    notice.get_by_role("button", name="Start").click()
    actions.wait_until(page, "finished")
    expect(notice).to_have_count(0)


def test_plugin_is_enabled_for_the_project_and_switched_on_for_an_agent(
    crew: None, open_browser: Callable[..., BrowserContext], pictures: Path
) -> None:
    page = open_browser(**LOOKS["desktop-light"]).new_page()
    page.goto("/")
    project = page.url.rstrip("/")
    page.goto(f"{project}/settings/")
    page.get_by_role("button", name="Enable Testing").click()
    expect(page.get_by_role("button", name="Disable Testing")).to_be_visible()
    page.locator("#plugins").scroll_into_view_if_needed()
    page.screenshot(path=pictures / "plugins-project.png")
    page.goto(f"{project}/agents/?search=rosa")
    page.get_by_label("Settings of Rosa").click()
    section = page.locator("#plugins")
    section.get_by_label("Testing").check()
    section.get_by_role("button", name="Save the plugins").click()
    expect(page.locator("#changes")).to_contain_text("agent.plugins_changed")
    expect(section.get_by_label("Testing")).to_be_checked()
    section.scroll_into_view_if_needed()
    page.screenshot(path=pictures / "plugins-agent.png")
    small = open_browser(**PHONE).new_page()
    small.goto(f"{project}/settings/")
    actions.has_no_sideways_scroll(small)
    assert violations(small) == []
    page.goto(f"{project}/settings/")
    page.get_by_role("button", name="Disable Testing").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 agent loses it")
    page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    expect(page.get_by_role("button", name="Enable Testing")).to_be_visible()


def test_several_agents_are_added_from_a_pasted_list_and_one_is_retired(
    crew: None, open_browser: Callable[..., BrowserContext], watched: PageWatcher, pictures: Path
) -> None:
    page = open_browser(**LOOKS["desktop-light"]).new_page()
    page.goto("/")
    page.goto(f"{page.url.rstrip('/')}/agents/new/")
    rows = page.get_by_label("One agent a line")
    rows.fill("Ada Two, , developer, , billing web\nBo, rosa\nCy, , pirate")
    page.get_by_role("button", name="Add them all").click()
    expect(page.locator(".form-error")).to_contain_text(
        "Row 2, handle: The project has an agent of this handle."
    )
    expect(page.locator(".form-error")).to_contain_text("Row 3, agent_type: There is no such type")
    watched.leave_out(400)
    page.locator("#several").scroll_into_view_if_needed()
    page.screenshot(path=pictures / "agents-several.png")
    rows.fill("Ada Two, , developer, , billing web\nBo\tbo\tmanual-tester")
    page.get_by_role("button", name="Add them all").click()
    names = page.locator(".agent-cols tbody b")
    expect(names.nth(1)).to_have_text("Ada Two")
    expect(page.locator(".agent-cols")).to_contain_text("#web")
    small = open_browser(**PHONE).new_page()
    small.goto(f"{page.url.split('?')[0]}new/")
    actions.has_no_sideways_scroll(small)
    assert violations(small) == []
    for name in ("Ada Two", "Bo"):
        page.get_by_label(f"Settings of {name}").click()
        page.get_by_role("button", name=f"Retire {name}").click()
        expect(page.get_by_role("dialog")).to_contain_text("history stay readable")
        page.screenshot(path=pictures / "agent-retire.png")
        page.get_by_role("dialog").get_by_role("button", name="Retire").click()
        expect(names.first).to_be_visible()


def test_agents_are_filtered_sorted_and_sought(
    crew: None, open_browser: Callable[..., BrowserContext], pictures: Path
) -> None:
    page = open_browser(**LOOKS["desktop-light"]).new_page()
    page.goto("/")
    page.goto(f"{page.url.rstrip('/')}/agents/")
    names = page.locator(".agent-cols tbody b")
    expect(names).to_have_count(6)
    page.screenshot(path=pictures / "agents.png")
    page.locator("summary", has_text="Filter").press("Enter")
    page.screenshot(path=pictures / "agents-filter.png")
    page.get_by_role("link", name="billing 2").click()
    expect(names).to_have_text(["Rosa", "Theo"])
    page.locator("summary", has_text="Filter").click()
    page.get_by_role("link", name="Engineering 1").click()
    expect(names).to_have_text(["Rosa"])
    assert violations(page) == []
    page.screenshot(path=pictures / "agents-chosen.png")
    page.get_by_role("link", name="#billing Remove this filter").click()
    page.get_by_label("Find an agent").fill("zebra")
    page.get_by_label("Find an agent").press("Enter")
    expect(page.locator(".empty")).to_contain_text("No agent matches")
    page.screenshot(path=pictures / "agents-none.png")
    page.get_by_role("link", name="Show all 6").click()
    page.locator("summary", has_text="Sort").click()
    page.get_by_role("link", name="Priority").click()
    expect(names.first).to_have_text("Rosa")
    small = open_browser(**PHONE).new_page()
    small.goto(str(page.locator(".agent-cols a[data-row]", has_text="@ines").get_attribute("href")))
    expect(small.locator(".kpi", has_text="Success")).to_contain_text("Unknown")
    actions.has_no_sideways_scroll(small)
    assert violations(small) == []
    small.screenshot(path=pictures / "agent-figures-phone.png", full_page=True)
    small.goto(f"{page.url.split('?')[0]}?tag=release&tag=billing")
    small.locator("summary", has_text="Filter").click()
    actions.has_no_sideways_scroll(small)
    assert violations(small) == []
    small.screenshot(path=pictures / "agents-phone.png", full_page=True)
