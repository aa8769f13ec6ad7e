"""Who belongs to a project, through the services and the database's own laws."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from pytest_django import DjangoAssertNumQueries

from paca.accounts.models import AuditEntry, User
from paca.agents import services as agents
from paca.common.errors import Invalid, NotFound
from paca.projects import selectors, signals
from paca.projects.models import Member, Project
from paca.projects.services import members, projects, roles, workspaces
from paca.projects.services.members import LastOwner
from tests.support import world
from tests.support.world import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def here() -> World:
    return world.make()


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob", name="Bob")


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "human"},
        {"kind": "agent"},
        {"kind": "human", "user": True, "agent": True},
        {"kind": "agent", "user": True, "agent": True},
        {"kind": "human", "agent": True},
        {"kind": "agent", "user": True},
    ],
)
def test_the_database_refuses_whoever_is_not_one_human_or_one_agent(
    broken: dict[str, Any], here: World, bob: User
) -> None:
    spare = world.make("Elsewhere").agent
    Member.objects.filter(agent=spare).delete()
    values = {
        "kind": broken["kind"],
        "user": bob if broken.get("user") else None,
        "agent": spare if broken.get("agent") else None,
    }
    with (
        pytest.raises(IntegrityError, match="member_is_one_human_or_one_agent"),
        transaction.atomic(),
    ):
        Member.objects.create(project=here.project, role=here.role("member"), **values)


def test_a_removed_person_comes_back_as_the_same_member(here: World, bob: User) -> None:
    first = members.add_person(here.project, user=bob, role=here.role("member"), by=here.owner)
    members.remove(first, by=here.owner)
    with pytest.raises(NotFound):
        selectors.get_membership(bob, here.project.pk)
    again = members.add_person(here.project, user=bob, role=here.role("viewer"), by=here.owner)
    assert again.pk == first.pk
    assert selectors.get_membership(bob, here.project.pk).role.name == "Viewer"


def test_nobody_is_a_member_twice(here: World, bob: User) -> None:
    members.add_person(here.project, user=bob, role=here.role("member"), by=here.owner)
    with pytest.raises(Invalid) as refused:
        members.add_person(here.project, user=bob, role=here.role("viewer"), by=here.owner)
    assert refused.value.fields == {"user": ["This person is a member already."]}


def test_a_role_of_another_project_is_refused(here: World, bob: User) -> None:
    foreign = world.make("Elsewhere").role("member")
    with pytest.raises(Invalid, match="not valid"):
        members.add_person(here.project, user=bob, role=foreign, by=here.owner)


def test_a_project_keeps_an_owner(here: World, bob: User) -> None:
    with pytest.raises(LastOwner):
        members.remove(here.owner, by=here.owner)
    with pytest.raises(LastOwner):
        members.change_role(here.owner, role=here.role("viewer"), by=here.owner)
    with pytest.raises(LastOwner):
        roles.change(here.role("owner"), permissions=["agents:*"], by=here.owner)
    members.add_person(here.project, user=bob, role=here.role("owner"), by=here.owner)
    members.remove(here.owner, by=here.owner)
    with pytest.raises(NotFound):
        selectors.get_membership(here.user, here.project.pk)


def test_an_agent_in_the_owners_role_does_not_count_as_an_owner(here: World) -> None:
    members.change_role(here.agent.member, role=here.role("owner"), by=here.owner)
    with pytest.raises(LastOwner):
        members.remove(here.owner, by=here.owner)


def test_names_and_handles_are_those_of_the_human_or_the_agent(here: World, bob: User) -> None:
    member = members.add_person(here.project, user=bob, role=here.role("member"), by=here.owner)
    assert (member.name, member.handle) == ("Bob", "bob")
    assert (here.agent.member.name, here.agent.member.handle) == ("Rosa", "rosa")


def test_what_refuses_inside_the_signal_undoes_the_change(here: World, bob: User) -> None:
    def refuse(**_: Any) -> None:
        raise RuntimeError("not now")

    signals.members_changed.connect(refuse)
    try:
        with pytest.raises(RuntimeError, match="not now"):
            members.add_person(here.project, user=bob, role=here.role("member"), by=here.owner)
    finally:
        signals.members_changed.disconnect(refuse)
    assert not Member.objects.filter(user=bob).exists()


def test_deleting_a_project_ends_its_memberships_and_keeps_its_rows(here: World) -> None:
    heard: list[str] = []

    def hear(member: Member, change: str, **_: Any) -> None:
        heard.append(f"{member.handle} {change}")

    signals.members_changed.connect(hear)
    try:
        projects.delete(here.project, by=here.owner)
    finally:
        signals.members_changed.disconnect(hear)
    assert sorted(heard) == ["ada-harbor removed", "rosa removed"]
    assert not Project.objects.for_member(here.user).exists()
    assert Project.objects.filter(pk=here.project.pk).exists()
    with pytest.raises(NotFound):
        selectors.get_membership(here.user, here.project.pk)


def test_a_project_name_is_free_again_after_its_deletion(here: World) -> None:
    with pytest.raises(Invalid) as refused:
        projects.create(here.project.workspace, "Harbor", by=here.user)
    assert refused.value.fields == {"name": ["The workspace has a project of this name."]}
    projects.delete(here.project, by=here.owner)
    assert projects.create(here.project.workspace, "Harbor", by=here.user).pk != here.project.pk


def test_members_are_listed_without_a_query_for_each(
    here: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(5):
        user = User.objects.create_user(f"person{number}")
        members.add_person(here.project, user=user, role=here.role("member"), by=here.owner)
        agents.create(
            here.project,
            name=f"Agent {number}",
            handle=f"agent{number}",
            model="demo/guide",
            role=here.role("agent"),
            by=here.owner,
        )
    with django_assert_num_queries(1):
        listed = [(m.name, m.handle, m.role.name) for m in here.project.members.live().with_names()]
    assert len(listed) == 12


def test_each_change_stands_in_the_audit_trail(here: World, bob: User) -> None:
    workspaces.add_person(here.project.workspace, user=bob, by=here.user)
    member = members.add_person(here.project, user=bob, role=here.role("member"), by=here.owner)
    members.change_role(member, role=here.role("viewer"), by=here.owner)
    members.remove(member, by=here.owner)
    actions = [entry.action for entry in AuditEntry.objects.order_by("created_at")]
    assert actions[-4:] == [
        "workspace.person_added",
        "member.added",
        "member.role_changed",
        "member.removed",
    ]
    last = AuditEntry.objects.order_by("-created_at").first()
    assert last is not None
    assert (last.actor, last.actor_name, last.object_name) == ("person", "ada-harbor", "Bob")
