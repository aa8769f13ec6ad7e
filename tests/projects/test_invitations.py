"""Invitations by link: to a workspace and to a project, for people with and without an account."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from paca.accounts.models import AuditEntry, User
from paca.common import logs
from paca.projects.models import Invitation, Member, Role, WorkspaceMember
from paca.projects.services import invitations, members, workspaces
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db
PASSWORD = "a long password 7"


@pytest.fixture
def world() -> World:
    return make_world()


def invite(world: World, **more: Any) -> str:
    """The path of the link of a new invitation to the project as a member."""
    body = {"role_id": str(world.role("member").pk), **more}
    answer = Api(world.user).post(f"/projects/{world.project.pk}/invitations/", body)
    assert answer.status_code == 201, answer.content
    return str(answer.json()["link"]).partition("testserver")[2]


def account(username: str = "grace", password: str = PASSWORD) -> dict[str, str]:
    return {"username": username, "name": "Grace Hopper", "password": password}


def test_new_person_makes_an_account_and_is_a_member_of_the_project(world: World) -> None:
    link, browser = invite(world), Client()
    page = browser.get(link).content.decode()
    assert "Join Harbor" in page
    assert "as member" in page
    assert browser.post(link, account()).headers["Location"] == f"/projects/{world.project.pk}/"
    member = Member.objects.get(user__username="grace")
    assert (member.role.name, member.name) == ("Member", "Grace Hopper")
    assert WorkspaceMember.objects.filter(user=member.user).exists()
    assert browser.get(f"/projects/{world.project.pk}/").status_code == 200
    assert AuditEntry.objects.filter(action="invitation.accepted").count() == 1


def test_person_with_an_account_joins_with_one_button(world: World) -> None:
    link = invite(world)
    user = User.objects.create_user("linus", password=PASSWORD)
    browser = Client()
    browser.force_login(user)
    assert "Join as linus" in browser.get(link).content.decode()
    browser.post(link)
    assert world.project.members.live().filter(user=user).exists()


def test_link_works_once(world: World) -> None:
    link = invite(world)
    Client().post(link, account())
    again = Client().post(link, account("second"))
    assert again.status_code == 404
    assert "used or has expired" in again.content.decode()
    assert not User.objects.filter(username="second").exists()


@pytest.mark.parametrize("way", ["expired", "revoked", "inviter_left", "project_deleted"])
def test_link_that_must_not_work_any_more_makes_no_account(world: World, way: str) -> None:
    link = invite(world)
    invitation = Invitation.objects.get()
    if way == "expired":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif way == "revoked":
        path = f"/projects/{world.project.pk}/invitations/{invitation.pk}/"
        assert Api(world.user).delete(path).status_code == 204
    elif way == "inviter_left":
        User.objects.filter(pk=world.user.pk).update(is_active=False)
    else:
        assert Api(world.user).delete(f"/projects/{world.project.pk}/").status_code == 204
    assert Client().post(link, account()).status_code == 404
    assert not User.objects.filter(username="grace").exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"username": "grace hopper"}, "Use letters, digits"),
        ({"username": "ada-harbor"}, "This username is taken."),
        ({"username": ""}, "required"),
        ({"password": "12345678"}, "numeric"),
        ({"password": "short"}, "too short"),
    ],
)
def test_wrong_account_is_explained_and_leaves_the_link_usable(
    world: World, wrong: dict[str, str], said: str
) -> None:
    link, browser = invite(world), Client()
    page = browser.post(link, {**account(), **wrong}).content.decode()
    assert said in page
    assert browser.post(link, account()).status_code == 302


def test_member_that_joins_again_keeps_the_role(world: World) -> None:
    link, browser = invite(world), Client()
    browser.force_login(world.user)
    browser.post(link)
    assert world.project.members.get(user=world.user).role.name == "Owner"


def test_nobody_invites_to_a_role_above_their_own(world: World) -> None:
    manager = User.objects.create_user("mei", password=PASSWORD)
    Member.objects.create(
        project=world.project, user=manager, role=world.role("manager"), kind="human"
    )
    path = f"/projects/{world.project.pk}/invitations/"
    refused = Api(manager).post(path, {"role_id": str(world.role("owner").pk)})
    assert refused.json()["code"] == "role_exceeds_yours"


@pytest.mark.parametrize("way", ["removed", "demoted", "role_widened"])
def test_link_gives_nothing_that_its_inviter_could_not_give_now(world: World, way: str) -> None:
    mei = User.objects.create_user("mei", password=PASSWORD)
    workspaces.add_person(world.project.workspace, user=mei)
    role = world.role("manager")
    member = members.add_person(world.project, user=mei, role=role, by=world.user)
    body = {"role_id": str(world.role("viewer" if way == "role_widened" else "manager").pk)}
    made = Api(mei).post(f"/projects/{world.project.pk}/invitations/", body)
    link = made.json()["link"].partition("testserver")[2]
    if way == "removed":
        members.remove(member, by=world.user)
    elif way == "demoted":
        members.change_role(member, role=world.role("member"), by=world.user)
    else:
        Role.objects.filter(pk=body["role_id"]).update(permissions=["*"])
    [listed] = Api(world.user).get(f"/projects/{world.project.pk}/invitations/").json()["results"]
    assert listed["valid"] is False
    owner = Client()
    owner.force_login(world.user)
    team = owner.get(f"/projects/{world.project.pk}/team/").content.decode()
    assert "Its link does not work: mei may not invite to this role any more." in team
    browser = Client()
    browser.force_login(mei)
    assert browser.get(link).status_code == browser.post(link).status_code == 404
    assert Client().post(link, account()).status_code == 404
    assert not User.objects.filter(username="grace").exists()


def test_workspace_link_ends_with_the_ownership_of_its_inviter(world: World) -> None:
    workspace, mei = world.project.workspace, User.objects.create_user("mei", password=PASSWORD)
    entry = workspaces.add_person(workspace, user=mei, role=WorkspaceMember.Role.OWNER)
    made = Api(mei).post(f"/workspaces/{workspace.pk}/invitations/", {})
    link = made.json()["link"].partition("testserver")[2]
    listed = Api(world.user).get(f"/workspaces/{workspace.pk}/invitations/")
    assert [each["valid"] for each in listed.json()["results"]] == [True]
    workspaces.remove_person(entry, by=world.user)
    listed = Api(world.user).get(f"/workspaces/{workspace.pk}/invitations/")
    assert [each["valid"] for each in listed.json()["results"]] == [False]
    browser = Client()
    browser.force_login(mei)
    assert browser.post(link).status_code == 404
    assert not workspace.members.filter(user=mei).exists()


def test_person_with_the_handle_of_an_agent_reads_why_they_cannot_join(world: World) -> None:
    link, browser = invite(world), Client()
    browser.force_login(User.objects.create_user(world.agent.handle, password=PASSWORD))
    page = browser.post(link)
    assert page.status_code == 200
    assert "Another member has the handle @rosa." in page.content.decode()
    assert Invitation.objects.get().accepted_at is None


def test_secret_of_a_link_is_masked_in_the_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    link = invite(world)
    assert Client(enforce_csrf_checks=True).post(link, account()).status_code == 403
    [line] = [record.getMessage() for record in caplog.records if "/join/" in record.getMessage()]
    assert link.split("/")[2] in line
    assert link.split("/")[2] not in logs.masked(f"{line} ?next=%2Fjoin%2F{link.split('/')[2]}%2F")


def test_list_shows_usable_invitations_and_no_secret(world: World) -> None:
    link = invite(world, note="for Grace")
    invite(world, days=30)
    [newer, older] = (
        Api(world.user).get(f"/projects/{world.project.pk}/invitations/").json()["results"]
    )
    assert (older["note"], older["role"]) == ("for Grace", "Member")
    assert "link" not in older
    assert older["valid"]
    assert newer["valid"]
    secret = link.split("/")[2]
    assert not Invitation.objects.filter(secret_sha256__contains=secret).exists()
    assert secret not in str(list(AuditEntry.objects.values_list("facts", flat=True)))
    assert newer["expires_at"] > older["expires_at"]


def test_list_takes_as_many_queries_for_30_invitations_as_for_3(world: World) -> None:
    role, counts = world.role("member"), []
    for number in range(30):
        person = User.objects.create_user(f"inviter{number}", password=PASSWORD)
        invitations.create(world.project.workspace, by=person, role=role)
        if number in (2, 29):
            with CaptureQueriesContext(connection) as asked:
                shown = Api(world.user).get(f"/projects/{world.project.pk}/invitations/").json()
            assert [each["valid"] for each in shown["results"]] == [False] * (number + 1)
            counts.append(len(asked))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("days", [0, 31, -1, "soon"])
def test_days_of_an_invitation_have_bounds(world: World, days: Any) -> None:
    body = {"role_id": str(world.role("member").pk), "days": days}
    refused = Api(world.user).post(f"/projects/{world.project.pk}/invitations/", body)
    assert (refused.status_code, list(refused.json()["fields"])) == (400, ["days"])


def test_person_removed_from_the_workspace_leaves_its_projects(world: World) -> None:
    Client().post(invite(world), account())
    people = f"/workspaces/{world.project.workspace_id}/members/"
    listed = {
        each["username"]: each["id"] for each in Api(world.user).get(people).json()["results"]
    }
    assert Api(world.user).delete(f"{people}{listed['grace']}/").status_code == 204
    assert not world.project.members.live().filter(user__username="grace").exists()


def test_last_owner_of_a_workspace_stays(world: World) -> None:
    people = f"/workspaces/{world.project.workspace_id}/members/"
    [me] = Api(world.user).get(people).json()["results"]
    refused = Api(world.user).delete(f"{people}{me['id']}/")
    assert (refused.status_code, refused.json()["code"]) == (409, "last_workspace_owner")
    refused = Api(world.user).patch(f"{people}{me['id']}/", {"role": "member"})
    assert refused.json()["code"] == "last_workspace_owner"
