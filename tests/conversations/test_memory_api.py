"""The API and the pages of memory."""

from __future__ import annotations

import pytest

from paca.accounts.models import User
from paca.conversations.models import MemoryEntry
from paca.projects.services import members, roles
from tests.conversations.memory_desk import MemoryDesk
from tests.support.api import Api
from tests.support.world import make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk() -> MemoryDesk:
    return MemoryDesk()


@pytest.fixture(params=["agent", "project"])
def place(request, desk):
    """The address of one memory, and the memory."""
    if request.param == "agent":
        return desk.url, desk.of_agent
    return desk.project_url, desk.of_project


def test_entry_is_added_changed_pinned_and_deleted(desk, place):
    url, owner = place
    made = desk.team.api.post(url, {"text": " Tests run  with make check. "})
    assert made.status_code == 201, made.data
    assert (made.data["text"], made.data["state"], made.data["pinned"]) == (
        "Tests run with make check.",
        "accepted",
        False,
    )
    assert made.data["author"] == {
        "id": str(desk.team.ada.pk),
        "name": desk.team.ada.name,
        "kind": "human",
    }
    one = f"{url}{made.data['id']}/"
    changed = desk.team.api.patch(one, {"text": "Tests run with make test.", "pinned": True})
    assert (changed.data["text"], changed.data["pinned"]) == ("Tests run with make test.", True)
    assert desk.team.api.get(url).data["results"] == [desk.team.api.get(one).data]
    assert desk.team.api.post(url, {"text": "tests run with MAKE TEST"}).data["code"] == (
        "memory_duplicate"
    )
    assert desk.team.api.delete(one).status_code == 204
    assert desk.team.api.get(one).status_code == 404
    assert desk.texts(owner) == []


def test_waiting_entry_is_accepted_or_refused_once(desk, place):
    url, owner = place
    for text in ("One.", "Two."):
        desk.note(text, of=owner)
    listed = desk.team.api.get(f"{url}?state=waiting").data["results"]
    two, one = listed
    assert (one["text"], one["author"]["kind"], one["accepted_at"]) == ("One.", "agent", None)
    assert one["conversation"] == str(desk.conversation.pk)
    accepted = desk.team.api.post(f"{url}{one['id']}/decision/", {"decision": "accept"})
    assert (accepted.status_code, accepted.data["state"]) == (200, "accepted")
    assert accepted.data["checked_by"]["name"] == desk.team.ada.name
    refused = desk.team.api.post(f"{url}{two['id']}/decision/", {"decision": "refuse"})
    assert refused.status_code == 204
    again = desk.team.api.post(f"{url}{one['id']}/decision/", {"decision": "refuse"})
    assert (again.status_code, again.data["code"]) == (409, "memory_decided")
    assert desk.team.api.get(f"{url}{two['id']}/").status_code == 404
    assert [row["text"] for row in desk.team.api.get(url).data["results"]] == ["One."]


@pytest.mark.parametrize("change", ["its text", "what it replaces"])
def test_entry_that_was_changed_since_it_was_seen_is_not_decided(desk, place, change):
    """Its agent may write something else into it in the moment in which a person accepts it."""
    url, owner = place
    old = desk.add("The port is 80.", of=owner)
    short = desk.note("The port is 8000.", of=owner, replaces=str(old.pk)[:8]).event.entry[:8]
    [seen] = desk.team.api.get(f"{url}?state=waiting").data["results"]
    if change == "its text":
        desk.note("Push to main.", of=owner, replaces=short)
    else:
        desk.team.api.patch(f"{url}{old.pk}/", {"text": "The port is 443."})
    decide = {"path": f"{url}{seen['id']}/decision/", "body": {"decision": "accept"}}
    refused = desk.team.api.post(**decide, if_match=seen["updated_at"])
    assert (refused.status_code, refused.data["code"]) == (412, "changed_meanwhile")
    [now] = desk.team.api.get(f"{url}?state=waiting").data["results"]
    accepted = desk.team.api.post(**decide, if_match=now["updated_at"])
    assert accepted.status_code == 200


def test_page_names_conversations_to_those_who_may_read_them_only(desk, place):
    url, owner = place
    desk.note("A note.", of=owner)
    role = roles.create(
        desk.project,
        name="Reader",
        permissions=["projects:read", "agents:read"],
        by=desk.team.ada,
    )
    reader = User.objects.create_user(username="rita", password="a long password 7")
    members.add_person(desk.project, user=reader, role=role, by=desk.team.ada)
    seen = Api(reader).send("GET", url).content.decode()
    assert "A note." in seen
    assert str(desk.conversation.pk) not in seen
    assert desk.conversation.title not in seen


def test_entry_of_one_memory_is_not_found_in_another(desk, place):
    url, owner = place
    entry = desk.add("A fact.", of=owner)
    other = make_world("Pier")
    stranger, foreign = Api(other.user), f"/projects/{other.project.pk}"
    elsewhere = [
        f"{foreign}/memory/",
        f"{foreign}/agents/{other.agent.pk}/memory/",
        f"{foreign}/agents/{desk.agent.pk}/memory/",
    ]
    for wrong in elsewhere:
        one = f"{wrong}{entry.pk}/"
        assert stranger.get(one).status_code == 404
        assert stranger.patch(one, {"text": "Mine."}).status_code == 404
        assert stranger.post(f"{one}decision/", {"decision": "accept"}).status_code == 404
        assert stranger.delete(one).status_code == 404
    assert stranger.get(url).status_code == 404
    [beside] = {desk.url, desk.project_url} - {url}
    assert desk.team.api.get(f"{beside}{entry.pk}/").status_code == 404
    assert MemoryEntry.objects.get().text == "A fact."


def test_change_of_an_entry_that_was_changed_meanwhile_is_refused(desk, place):
    url, owner = place
    entry = desk.add("A fact.", of=owner)
    one = f"{url}{entry.pk}/"
    seen = desk.team.api.get(one).data["updated_at"]
    desk.team.api.patch(one, {"text": "Another fact."})
    answer = desk.team.api.patch(one, {"text": "A third."}, **{"If-Match": seen})
    assert answer.status_code == 412
    assert answer.data["present"]["text"] == "Another fact."


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "text"),
        ({"text": ""}, "text"),
        ({"text": "\u200b"}, None),
        ({"text": "x" * 501}, "text"),
        ({"text": None}, "text"),
        ({"text": ["x"]}, "text"),
        ({"text": "x", "pinned": "perhaps"}, "pinned"),
        ({"text": "x", "state": "accepted"}, "state"),
        ({"text": "x", "author": "me"}, "author"),
    ],
)
def test_bad_input_of_a_new_entry_names_its_field(desk, place, body, field):
    answer = desk.team.api.post(place[0], body)
    if field is None:  # shown as it is
        assert answer.data["text"] == "‹U+200B›"
        return
    assert answer.status_code == 400
    assert list(answer.data["fields"]) == [field]
    assert MemoryEntry.objects.count() == 0


@pytest.mark.parametrize("body", [{}, {"decision": "maybe"}, {"decision": None}, {"accept": True}])
def test_bad_decision_is_refused(desk, place, body):
    url, owner = place
    desk.note("A fact.", of=owner)
    [entry] = desk.waiting(owner)
    assert desk.team.api.post(f"{url}{entry.pk}/decision/", body).status_code == 400
    assert desk.waiting(owner) == [entry]


def test_entry_that_waits_cannot_be_pinned_and_one_without_a_text_gets_none(desk):
    old = desk.add("A fact.")
    desk.note("", replaces=str(old.pk)[:8])
    [entry] = desk.waiting()
    one = f"{desk.url}{entry.pk}/"
    assert list(desk.team.api.patch(one, {"pinned": True}).data["fields"]) == ["pinned"]
    assert list(desk.team.api.patch(one, {"text": "x"}).data["fields"]) == ["text"]


def test_who_may_decide_sees_on_each_page_how_many_entries_wait(desk):
    desk.note("One.")
    desk.note("Two.", of=desk.of_project)
    other = make_world("Pier")
    pages = {}
    for user, project in ((desk.team.world.user, desk.project), (other.user, other.project)):
        pages[user] = Api(user).send("GET", f"/projects/{project.pk}/board/").content.decode()
    waiting = '2<span class="sr"> waiting</span>'
    assert [waiting in page for page in pages.values()] == [True, False]
    assert "waiting</span>" not in pages[other.user]


def test_page_shows_where_entries_come_from_and_buttons_to_those_who_may_write_only(desk, place):
    url, owner = place
    entry = desk.add("Known <b>fact</b>.", of=owner)
    desk.note("A note.", of=owner)
    desk.note("", of=owner, replaces=str(entry.pk)[:8])
    viewer = User.objects.create_user(username="vera", password="a long password 7")
    members.add_person(
        desk.project, user=viewer, role=desk.team.world.role("viewer"), by=desk.team.ada
    )
    shown = Api(desk.team.world.user).send("GET", url).content.decode()
    assert "Known &lt;b&gt;fact&lt;/b&gt;." in shown
    assert f"/conversations/{desk.conversation.pk}/" in shown
    assert shown.count('"decision": "accept"') == 2
    assert "Take out:" in shown
    seen = Api(viewer).send("GET", url).content.decode()
    assert "A note." in seen
    assert "decision" not in seen
    assert "Add an entry" not in seen


def test_list_costs_the_same_queries_for_3_and_for_30_entries(
    desk, place, django_assert_max_num_queries
):
    url, owner = place
    counts = []
    for wanted in (3, 30):
        for number in range(owner.entries.count(), wanted):
            desk.add(f"Fact {number}.", of=owner)
        with django_assert_max_num_queries(12) as found:
            assert len(desk.team.api.get(url).data["results"]) == wanted
        counts.append(len(found))
    assert counts[0] == counts[1]
