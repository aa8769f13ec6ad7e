"""The API of workspaces, projects, members and roles."""

from typing import Any

import pytest

from paca.accounts import permission_patterns
from paca.accounts.models import User
from paca.projects.models import Role
from paca.projects.services import members, workspaces
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def add_member(world: World, name: str, role: str) -> Api:
    user = User.objects.create_user(name)
    workspaces.add_person(world.project.workspace, user=user)
    members.add_person(world.project, user=user, role=world.role(role), by=world.owner)
    return Api(user)


def test_new_project_has_the_template_roles_and_its_owner(world: World) -> None:
    api = Api(world.user)
    made = api.post("/projects/", {"name": "Lighthouse"}).json()
    roles = api.get(f"/projects/{made['id']}/roles/").json()["results"]
    assert sorted(role["name"] for role in roles) == [
        "Agent",
        "Manager",
        "Member",
        "Owner",
        "Viewer",
    ]
    (me,) = api.get(f"/projects/{made['id']}/members/").json()["results"]
    assert (me["handle"], me["kind"], me["role"]["name"]) == (world.user.username, "human", "Owner")


def test_project_list_has_only_projects_of_the_person_and_of_the_named_workspace(
    world: World,
) -> None:
    other = make_world("Elsewhere")
    api = Api(world.user)
    assert [row["name"] for row in api.get("/projects/").json()["results"]] == ["Harbor"]
    mine = str(world.project.workspace_id)
    assert len(api.get("/projects/", X_Workspace_ID=mine).json()["results"]) == 1
    for foreign in (str(other.project.workspace_id), "no-uuid"):
        assert api.get("/projects/", X_Workspace_ID=foreign).status_code == 404


def test_pages_of_a_long_list_have_each_row_once(world: World) -> None:
    for number in range(7):
        add_member(world, f"person{number}", "viewer")
    api = Api(world.user)
    seen: list[str] = []
    page = api.get(f"/projects/{world.project.pk}/members/?limit=4").json()
    while True:
        seen += [row["handle"] for row in page["results"]]
        if page["next"] is None:
            break
        page = api.client.get(page["next"]).json()
    assert sorted(seen) == sorted(["ada-harbor", "rosa", *(f"person{n}" for n in range(7))])


def test_member_of_another_workspace_cannot_be_added(world: World) -> None:
    make_world("Elsewhere")
    api = Api(world.user)
    role = str(world.role("member").pk)
    for name in ("ada-elsewhere", "nobody"):
        refused = api.post(
            f"/projects/{world.project.pk}/members/", {"username": name, "role_id": role}
        )
        assert refused.status_code == 400
        assert refused.json()["fields"] == {
            "username": ["The workspace has no person of this name."]
        }


def test_manager_cannot_grant_a_role_above_their_own(world: World) -> None:
    manager = add_member(world, "max", "manager")
    path = f"/projects/{world.project.pk}"
    own = next(
        row for row in manager.get(f"{path}/members/").json()["results"] if row["handle"] == "max"
    )
    owner_role = str(world.role("owner").pk)
    attempts = [
        manager.patch(f"{path}/members/{own['id']}/", {"role_id": owner_role}),
        manager.patch(
            f"{path}/members/{world.owner.pk}/", {"role_id": str(world.role("viewer").pk)}
        ),
        manager.delete(f"{path}/members/{world.owner.pk}/"),
        manager.patch(f"{path}/agents/{world.agent.pk}/", {"role_id": owner_role}),
        manager.post(
            f"{path}/agents/",
            {"name": "Z", "handle": "z", "model": "demo/guide", "role_id": owner_role},
        ),
    ]
    assert {(a.status_code, a.json()["code"]) for a in attempts} == {(403, "role_exceeds_yours")}


def test_role_with_a_stored_unknown_permission_is_granted_only_by_holders_of_it(
    world: World,
) -> None:
    """The permission may come back with another version of Paca; then the role would have it."""
    manager = add_member(world, "max", "manager")
    user = User.objects.create_user("bob")
    workspaces.add_person(world.project.workspace, user=user)
    role = world.role("viewer")
    role.permissions = [*role.permissions, "conversations:fly"]
    role.save()
    body = {"username": "bob", "role_id": str(role.pk)}
    path = f"/projects/{world.project.pk}/members/"
    scoped = Api.by_token(world.user, *permission_patterns.PERMISSIONS)
    for api in (manager, scoped):
        refused = api.post(path, body)
        assert (refused.status_code, refused.json()["code"]) == (403, "role_exceeds_yours")
    assert Api(world.user).post(path, body).status_code == 201


def test_new_role_with_an_unknown_permission_is_invalid_also_for_a_manager_of_roles(
    world: World,
) -> None:
    editor = add_member(world, "max", "manager")
    role = world.role("manager")
    role.permissions = [*role.permissions, "roles:write"]
    role.save()
    body = {"name": "Reader", "permissions": ["agents:raed"]}
    refused = editor.post(f"/projects/{world.project.pk}/roles/", body)
    assert (refused.status_code, list(refused.json()["fields"])) == (400, ["permissions"])


def test_token_cannot_grant_more_than_its_scopes(world: World) -> None:
    user = User.objects.create_user("bob")
    workspaces.add_person(world.project.workspace, user=user)
    body = {"username": "bob", "role_id": str(world.role("member").pk)}
    path = f"/projects/{world.project.pk}/members/"
    refused = Api.by_token(world.user, "members:*").post(path, body)
    assert (refused.status_code, refused.json()["code"]) == (403, "role_exceeds_yours")
    assert Api.by_token(world.user).post(path, body).status_code == 201


def test_role_in_use_cannot_be_deleted_and_an_unused_role_can(world: World) -> None:
    api = Api(world.user)
    path = f"/projects/{world.project.pk}/roles"
    refused = api.delete(f"{path}/{world.role('agent').pk}/")
    assert (refused.status_code, refused.json()["code"]) == (409, "role_in_use")
    made = api.post(f"{path}/", {"name": "Reader", "permissions": ["agents:read", "agents:read"]})
    assert made.json()["permissions"] == ["agents:read"]
    assert api.delete(f"{path}/{made.json()['id']}/").status_code == 204


def test_role_change_takes_effect_with_the_next_request(world: World) -> None:
    viewer = add_member(world, "vera", "viewer")
    path = f"/projects/{world.project.pk}"
    assert viewer.patch(f"{path}/", {"description": "x"}).status_code == 403
    role = world.role("viewer")
    permissions = [*role.permissions, "projects:write"]
    Api(world.user).patch(f"{path}/roles/{role.pk}/", {"permissions": permissions})
    assert viewer.patch(f"{path}/", {"description": "x"}).status_code == 200


def test_role_keeps_stored_permissions_that_no_longer_exist(world: World) -> None:
    api = Api(world.user)
    role = world.role("viewer")
    stored = [*role.permissions, "deploys:read", "traces:*"]
    Role.objects.filter(pk=role.pk).update(permissions=stored)
    path = f"/projects/{world.project.pk}/roles/{role.pk}/"
    assert api.patch(path, {"name": "Reader"}).status_code == 200
    assert api.patch(path, {"permissions": stored}).json()["permissions"] == sorted(stored)
    refused = api.patch(path, {"permissions": [*stored, "pages:read"]})
    assert refused.json()["fields"] == {"permissions": ["pages:read: no such permission."]}
    assert api.patch(path, {"permissions": ["agents:read"]}).status_code == 200
    assert api.patch(path, {"permissions": stored}).status_code == 400


def test_project_patch_of_an_outdated_version_is_refused(world: World) -> None:
    api = Api(world.user)
    path = f"/projects/{world.project.pk}/"
    seen = api.get(path).json()["updated_at"]
    assert api.patch(path, {"description": "mine"}, If_Match=f'"{seen}"').status_code == 200
    refused = api.patch(path, {"description": "yours"}, If_Match=f'"{seen}"')
    assert (refused.status_code, refused.json()["code"]) == (412, "changed_meanwhile")
    assert api.get(path).json()["description"] == "mine"
    assert api.patch(path, {"description": "any"}, If_Match="*").status_code == 200
    assert api.patch(path, {"description": "x"}, If_Match="yesterday").status_code == 400


def test_refusal_of_an_outdated_change_has_the_present_object(world: World) -> None:
    api = Api(world.user)
    project, workspace = (
        f"/projects/{world.project.pk}/",
        f"/workspaces/{world.project.workspace_id}/",
    )
    (entry,) = api.get(f"{workspace}members/").json()["results"]
    changes: dict[str, dict[str, Any]] = {
        project: {"name": "New"},
        workspace: {"name": "New"},
        f"{workspace}members/{entry['id']}/": {"role": "owner"},
        f"{project}roles/{world.role('viewer').pk}/": {"name": "New"},
        f"{project}members/{world.owner.pk}/": {"role_id": str(world.owner.role_id)},
    }
    for path, change in changes.items():
        refused = api.patch(path, change, If_Match="2001-01-01T00:00:00Z")
        assert (refused.status_code, refused.json()["code"]) == (412, "changed_meanwhile"), path
        assert set(refused.json()["present"]) >= {"id", "updated_at"}, path
        seen = refused.json()["present"]["updated_at"]
        assert api.patch(path, change, If_Match=seen).status_code == 200, path


def test_last_owner_error_says_what_to_do_first(world: World) -> None:
    refused = Api(world.user).delete(f"/projects/{world.project.pk}/members/{world.owner.pk}/")
    assert (refused.status_code, refused.json()["code"]) == (409, "last_owner")
    assert "make someone else an owner first" in refused.json()["detail"]
