"""Members of a project: the services and the database constraints."""

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
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


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
def test_database_refuses_a_member_that_is_not_one_person_or_one_agent(
    broken: dict[str, Any], world: World, bob: User
) -> None:
    unused_agent = make_world("Elsewhere").agent
    Member.objects.filter(agent=unused_agent).delete()
    values = {
        "kind": broken["kind"],
        "user": bob if broken.get("user") else None,
        "agent": unused_agent if broken.get("agent") else None,
    }
    with (
        pytest.raises(IntegrityError, match="member_is_one_human_or_one_agent"),
        transaction.atomic(),
    ):
        Member.objects.create(project=world.project, role=world.role("member"), **values)


def test_removed_person_comes_back_as_the_same_member(world: World, bob: User) -> None:
    first = members.add_person(world.project, user=bob, role=world.role("member"), by=world.owner)
    members.remove(first, by=world.owner)
    with pytest.raises(NotFound):
        selectors.get_membership(bob, world.project.pk)
    again = members.add_person(world.project, user=bob, role=world.role("viewer"), by=world.owner)
    assert again.pk == first.pk
    assert selectors.get_membership(bob, world.project.pk).role.name == "Viewer"


def test_person_cannot_be_a_member_twice(world: World, bob: User) -> None:
    members.add_person(world.project, user=bob, role=world.role("member"), by=world.owner)
    with pytest.raises(Invalid) as refused:
        members.add_person(world.project, user=bob, role=world.role("viewer"), by=world.owner)
    assert refused.value.fields == {"user": ["This person is a member already."]}


def test_role_of_another_project_is_refused(world: World, bob: User) -> None:
    foreign = make_world("Elsewhere").role("member")
    with pytest.raises(Invalid, match="not valid"):
        members.add_person(world.project, user=bob, role=foreign, by=world.owner)


def test_last_owner_cannot_be_removed_or_lose_the_role(world: World, bob: User) -> None:
    with pytest.raises(LastOwner):
        members.remove(world.owner, by=world.owner)
    with pytest.raises(LastOwner):
        members.change_role(world.owner, role=world.role("viewer"), by=world.owner)
    with pytest.raises(LastOwner):
        roles.change(world.role("owner"), permissions=["agents:*"], by=world.owner)
    members.add_person(world.project, user=bob, role=world.role("owner"), by=world.owner)
    members.remove(world.owner, by=world.owner)
    with pytest.raises(NotFound):
        selectors.get_membership(world.user, world.project.pk)


def test_agent_with_the_owner_role_does_not_count_as_an_owner(world: World) -> None:
    members.change_role(world.agent.member, role=world.role("owner"), by=world.owner)
    with pytest.raises(LastOwner):
        members.remove(world.owner, by=world.owner)


def test_member_has_the_name_and_handle_of_the_person_or_agent(world: World, bob: User) -> None:
    member = members.add_person(world.project, user=bob, role=world.role("member"), by=world.owner)
    assert (member.name, member.handle) == ("Bob", "bob")
    assert (world.agent.member.name, world.agent.member.handle) == ("Rosa", "rosa")


def test_membership_is_rolled_back_if_a_signal_receiver_fails(world: World, bob: User) -> None:
    def refuse(**_: Any) -> None:
        raise RuntimeError("not now")

    signals.members_changed.connect(refuse)
    try:
        with pytest.raises(RuntimeError, match="not now"):
            members.add_person(world.project, user=bob, role=world.role("member"), by=world.owner)
    finally:
        signals.members_changed.disconnect(refuse)
    assert not Member.objects.filter(user=bob).exists()


def test_deleted_project_loses_its_members_and_keeps_its_rows(world: World) -> None:
    received: list[str] = []

    def receive(member: Member, change: str, **_: Any) -> None:
        received.append(f"{member.handle} {change}")

    signals.members_changed.connect(receive)
    try:
        projects.delete(world.project, by=world.owner)
    finally:
        signals.members_changed.disconnect(receive)
    assert sorted(received) == ["ada-harbor removed", "rosa removed"]
    assert not Project.objects.for_person(world.user).exists()
    assert Project.objects.filter(pk=world.project.pk).exists()
    with pytest.raises(NotFound):
        selectors.get_membership(world.user, world.project.pk)


def test_project_name_can_be_used_again_after_its_deletion(world: World) -> None:
    with pytest.raises(Invalid) as refused:
        projects.create(world.project.workspace, "Harbor", by=world.user)
    assert refused.value.fields == {"name": ["The workspace has a project of this name."]}
    projects.delete(world.project, by=world.owner)
    assert projects.create(world.project.workspace, "Harbor", by=world.user).pk != world.project.pk


def test_member_list_needs_one_query(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(5):
        user = User.objects.create_user(f"person{number}")
        members.add_person(world.project, user=user, role=world.role("member"), by=world.owner)
        agents.create(
            world.project,
            name=f"Agent {number}",
            handle=f"agent{number}",
            model="demo/guide",
            role=world.role("agent"),
            by=world.owner,
        )
    with django_assert_num_queries(1):
        listed = [
            (m.name, m.handle, m.role.name) for m in world.project.members.live().with_names()
        ]
    assert len(listed) == 12


def test_membership_changes_are_audited(world: World, bob: User) -> None:
    workspaces.add_person(world.project.workspace, user=bob, by=world.user)
    member = members.add_person(world.project, user=bob, role=world.role("member"), by=world.owner)
    members.change_role(member, role=world.role("viewer"), by=world.owner)
    members.remove(member, by=world.owner)
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


def test_handle_of_a_member_is_nobody_elses(world: World) -> None:
    """A mention must mean one member."""
    namesake = User.objects.create_user("Rosa")
    with pytest.raises(Invalid) as refused:
        members.add_person(world.project, user=namesake, role=world.role("member"), by=world.owner)
    assert "username" in refused.value.fields
    with pytest.raises(Invalid):
        agents.configure(world.agent, handle=world.user.username, by=world.owner)
    agents.retire(world.agent, by=world.owner)
    members.add_person(world.project, user=namesake, role=world.role("member"), by=world.owner)
