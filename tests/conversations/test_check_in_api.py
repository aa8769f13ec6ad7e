"""The API and the page of check-ins."""

from __future__ import annotations

import pytest

from paca.conversations import deletion
from paca.conversations.models import CheckIn
from paca.conversations.services import check_ins
from paca.projects.services import docs
from paca.web import check_in_rows
from tests.conversations.check_in_desk import CheckInDesk
from tests.support.api import Api
from tests.support.world import make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk() -> CheckInDesk:
    return CheckInDesk()


def test_check_in_is_made_changed_run_and_deleted_over_the_api(desk):
    doc = desk.team.add_doc()
    body = {
        "name": "Evening",
        "prompt": "Sum the day up.",
        "daily_at": ["18:00"],
        "weekdays": [1, 2, 3, 4, 5],
        "active_from": "08:00",
        "active_to": "20:00",
        "time_zone": "Europe/Berlin",
        "report_to": {"doc": str(doc.pk)},
    }
    made = desk.team.api.post(desk.url, body)
    assert made.status_code == 201, made.data
    assert {name: made.data[name] for name in body if name != "report_to"} == {
        name: value for name, value in body.items() if name != "report_to"
    }
    assert made.data["report_to"] == {"doc": str(doc.pk), "title": "Notes"}
    assert (made.data["zone"], made.data["auto_act"]) == ("Europe/Berlin", False)
    assert made.data["next_at"] is not None
    url = f"{desk.url}{made.data['id']}/"
    changed = desk.team.api.patch(url, {"enabled": False, "report_to": {"task": 1}})
    assert changed.data["next_at"] is None
    assert changed.data["report_to"] == {"task": 1, "title": "Fix the login"}
    assert desk.team.api.patch(url, {"report_to": None}).data["report_to"] is None
    run = desk.team.api.post(f"{url}run/", {})
    assert run.status_code == 201, run.data
    assert run.data["conversation"]["status"] == "queued"
    assert desk.team.api.post(f"{url}run/", {}).data["code"] == "check_in_busy"
    shown = desk.team.api.get(url).data
    assert shown["last_run"]["id"] == run.data["id"]
    assert desk.team.api.get(f"{url}runs/").json()["results"] == [shown["last_run"]]
    assert desk.team.api.delete(url).status_code == 204
    assert desk.team.api.get(url).status_code == 404


def test_check_in_is_not_found_in_another_project(desk):
    other = make_world("Pier")
    url = f"/projects/{other.project.pk}/agents/{desk.agent.pk}/check-ins/{desk.check_in.pk}/"
    api = Api(other.user)
    assert api.get(url).status_code == 404
    assert api.get(f"{url}runs/").status_code == 404
    assert api.post(f"{url}run/", {}).status_code == 404
    assert api.delete(url).status_code == 404
    assert desk.team.api.get(desk.one_url).status_code == 200


def test_change_of_a_row_that_was_changed_meanwhile_is_refused(desk):
    seen = desk.team.api.get(desk.one_url).data["updated_at"]
    desk.change(prompt="Another prompt.")
    answer = desk.team.api.patch(desk.one_url, {"name": "New"}, **{"If-Match": seen})
    assert answer.status_code == 412
    assert answer.data["present"]["prompt"] == "Another prompt."


def test_history_does_not_lead_to_a_deleted_conversation(desk):
    desk.come()
    desk.team.run_turn("All is well.")
    deletion.delete(desk.conversations[0], by=desk.team.ada)
    assert desk.team.api.get(desk.one_url).data["last_run"]["conversation"] is None


def test_list_takes_as_many_queries_for_20_check_ins_with_runs_as_for_3(
    desk, django_assert_num_queries
):
    counts = []
    for total in (3, 20):
        while CheckIn.objects.count() < total:
            made = check_ins.create(
                desk.agent, name="More", prompt="Look.", every_minutes=60, by=desk.team.ada
            )
            check_ins.run_now(made, by=desk.team.ada)
        with django_assert_num_queries(len(counts) and counts[0] or 6, exact=False) as seen:
            assert len(desk.team.api.get(desk.url).json()["results"]) == total
        counts.append(len(seen))
    assert counts[0] == counts[1]


def test_page_shows_times_history_and_a_form_that_can_be_added_as_it_is(desk, client):
    desk.change(task=desk.team.task, weekdays=[1, 2])
    desk.come()
    desk.come()
    client.force_login(desk.team.world.user)
    address = f"/projects/{desk.team.world.project.pk}/agents/{desk.agent.pk}/settings/"
    html = client.get(address).content.decode()
    assert "Every hour, Mon Tue, UTC" in html
    assert "The former check-in was not finished" in html
    assert f"/conversations/{desk.conversations[0].pk}/" in html
    assert "Run now" in html
    check_ins.delete(CheckIn.objects.get(), by=desk.team.ada)
    html = client.get(address).content.decode()
    assert "No check-ins yet" in html
    assert "Morning look at the board" in html


def test_form_keeps_a_doc_that_is_not_among_those_to_choose_from(desk, monkeypatch):
    """Saved without it, the form would take the report away."""
    doc = docs.create(desk.team.world.project, by=desk.team.ada, title="Zoo of reports")
    desk.change(doc=doc)
    monkeypatch.setattr(check_in_rows, "MAX_DOCS", 0)
    (row,) = check_in_rows.context(desk.agent, may_read_docs=True)["check_ins"]
    assert row.docs == [doc]
    docs.delete(doc, by=desk.team.ada)
    (row,) = check_in_rows.context(desk.agent, may_read_docs=True)["check_ins"]
    assert row.docs == []


def test_titles_of_docs_are_shown_only_to_those_who_may_read_them(desk):
    docs.create(desk.team.world.project, by=desk.team.ada, title="Salaries")
    shown = [
        len(check_in_rows.context(desk.agent, may_read_docs=may)["new_check_in"].docs)
        for may in (True, False)
    ]
    assert shown == [1, 0]
