"""The admin: access, and that each page works and saves through the services."""

from decimal import Decimal
from importlib import import_module
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin as django_admin
from django.contrib.messages import get_messages
from django.test import Client

from paca.accounts.models import ApiToken, AuditEntry, User
from paca.accounts.services import tokens
from paca.projects import permissions
from paca.projects.models import Member, Project, Role, Workspace
from paca.projects.services import workspaces
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db
import_module(settings.ROOT_URLCONF)  # registers the pages of the admin
MODELS = [model._meta for model in django_admin.site._registry]
assert MODELS
LISTS = [f"/admin/{m.app_label}/{m.model_name}/" for m in MODELS]


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser("root", password="a long password 7")


@pytest.fixture
def admin(root: User) -> Client:
    client = Client()
    client.force_login(root)
    return client


@pytest.mark.parametrize("address", ["/admin/", *LISTS])
def test_admin_opens_only_for_staff(address: str, world: World, admin: Client) -> None:
    assert Client().get(address).status_code == 302
    owner = Client()
    owner.force_login(world.user)
    assert owner.get(address).status_code in {302, 403}
    assert Api.by_token(User.objects.get(username="root")).send("GET", address).status_code == 302
    assert admin.get(address).status_code == 200


def test_admin_uses_the_sign_in_page_of_the_site() -> None:
    answer = Client().get("/admin/login/?next=/admin/")
    assert answer.headers["Location"] == "/accounts/login/?next=%2Fadmin%2F"


@pytest.mark.parametrize("address", LISTS)
def test_admin_pages_of_every_model_open(address: str, world: World, admin: Client) -> None:
    tokens.create(world.user, name="script", by=world.user)
    name = address.split("/")[3]
    model = next(m.model for m in MODELS if m.model_name == name)
    row = model._default_manager.first()
    assert admin.get(f"{address}?q=a").status_code == 200
    add = admin.get(f"{address}add/")
    assert add.status_code in {200, 403}
    if row is not None:
        assert admin.get(f"{address}{row.pk}/change/").status_code == 200


def test_admin_makes_people_and_audits_changed_fields(admin: Client) -> None:
    body = {"username": "bob", "name": "Bob", "usable_password": "false"}
    answer = admin.post("/admin/accounts/user/add/", body)
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    bob = User.objects.get(username="bob")
    assert not bob.has_usable_password()
    admin.post(
        f"/admin/accounts/user/{bob.pk}/change/",
        {"username": "bob", "name": "Bob", "email": "", "is_active": "on", "is_staff": "on"},
    )
    entry = AuditEntry.objects.get(action="person.changed")
    assert (entry.actor_name, entry.facts) == ("root", {"fields": ["is_staff"]})
    refused = admin.post("/admin/accounts/user/add/", {**body, "username": "BOB"})
    assert "This username is taken." in str(refused.context["adminform"].form.errors)


def test_admin_makes_workspaces_and_projects_with_their_owner(root: User, admin: Client) -> None:
    inline = {"members-TOTAL_FORMS": 0, "members-INITIAL_FORMS": 0}
    admin.post("/admin/projects/workspace/add/", {"name": "Boats", **inline})
    workspace = Workspace.objects.get(name="Boats")
    admin.post(
        "/admin/projects/project/add/",
        {
            **{"workspace": workspace.pk, "name": "Sails", "memory": "ask", "network": "none"},
            "limit_month_cost_usd": "9.50",
        },
    )
    member = Member.objects.get(user=root)
    assert member.project.limit_month_cost_usd == Decimal("9.50")
    assert (member.project.name, member.role.name) == ("Sails", permissions.OWNER)
    assert set(member.project.roles.values_list("name", flat=True)) == set(permissions.TEMPLATES)
    admin.post(
        f"/admin/projects/project/{member.project.pk}/change/",
        {"name": "Masts", "prefix": "MAST", "description": "", "memory": "ask", "network": "none"},
    )
    assert Project.objects.get(pk=member.project.pk).name == "Masts"


def test_admin_adds_changes_and_removes_people_of_a_workspace(world: World, admin: Client) -> None:
    workspace = world.project.workspace
    bob = User.objects.create_user("bob")
    mine = workspace.members.get()
    address = f"/admin/projects/workspace/{workspace.pk}/change/"

    def save(**entries: Any) -> None:
        rows = {f"members-{name.replace('__', '-')}": value for name, value in entries.items()}
        rows |= {
            "members-0-id": mine.pk,
            "members-0-user": world.user.pk,
            "members-0-role": "owner",
        }
        answer = admin.post(address, {"name": workspace.name, **rows})
        assert answer.status_code == 302, answer.context["inline_admin_formsets"][0].formset.errors

    save(TOTAL_FORMS=2, INITIAL_FORMS=1, **{"1__user": bob.pk, "1__role": "member"})
    entry = workspace.members.get(user=bob)
    person = {"1__id": entry.pk, "1__user": bob.pk}
    save(TOTAL_FORMS=2, INITIAL_FORMS=2, **person, **{"1__role": "owner"})
    entry.refresh_from_db()
    assert entry.role == "owner"
    save(TOTAL_FORMS=2, INITIAL_FORMS=2, **person, **{"1__role": "owner", "1__DELETE": "on"})
    assert not workspace.members.filter(user=bob).exists()
    actions = AuditEntry.objects.filter(actor_name="root").order_by("created_at")
    assert [entry.action for entry in actions if "renamed" not in entry.action] == [
        "workspace.person_added",
        "workspace.role_changed",
        "workspace.person_removed",
    ]


def test_admin_reads_one_permission_a_line_for_a_role(world: World, admin: Client) -> None:
    body = {
        "project": world.project.pk,
        "name": "Reader",
        "permissions": "agents:read\nmembers:read",
    }
    admin.post("/admin/projects/role/add/", body)
    role = Role.objects.get(name="Reader")
    assert role.permissions == ["agents:read", "members:read"]
    wrong = {"name": "Reader", "permissions": "agents:fly"}
    refused = admin.post(f"/admin/projects/role/{role.pk}/change/", wrong)
    assert "agents:fly: no such permission." in str(refused.context["adminform"].form.errors)


def test_admin_saves_a_role_with_a_stored_permission_that_no_longer_exists(
    world: World, admin: Client
) -> None:
    role = world.role("viewer")
    Role.objects.filter(pk=role.pk).update(permissions=["agents:read", "deploys:read"])
    body = {"name": "Reader", "permissions": "agents:read\ndeploys:read"}
    answer = admin.post(f"/admin/projects/role/{role.pk}/change/", body)
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    role.refresh_from_db()
    assert (role.name, role.permissions) == ("Reader", ["agents:read", "deploys:read"])


def test_admin_adds_changes_and_removes_members(world: World, admin: Client) -> None:
    bob = User.objects.create_user("bob")
    workspaces.add_person(world.project.workspace, user=bob)
    body = {"project": world.project.pk, "user": bob.pk, "role": world.role("viewer").pk}
    assert admin.post("/admin/projects/member/add/", body).status_code == 302
    member = Member.objects.get(user=bob)
    address = f"/admin/projects/member/{member.pk}/change/"
    admin.post(address, {"role": world.role("member").pk})
    member.refresh_from_db()
    assert member.role == world.role("member")
    admin.post(
        "/admin/projects/member/", {"action": "remove", "_selected_action": [str(member.pk)]}
    )
    member.refresh_from_db()
    assert member.deleted_at is not None


def test_admin_shows_the_error_of_a_service_and_changes_nothing(
    world: World, admin: Client
) -> None:
    address = f"/admin/projects/member/{world.owner.pk}/change/"
    answer: Any = admin.post(address, {"role": world.role("viewer").pk})
    assert "make someone else an owner first" in str(list(get_messages(answer.wsgi_request))[0])
    world.owner.refresh_from_db()
    assert world.owner.role.name == permissions.OWNER


def test_admin_revokes_tokens_and_never_shows_them(world: World, admin: Client) -> None:
    token, secret = tokens.create(world.user, name="script", by=world.user)
    page = admin.get(f"/admin/accounts/apitoken/{token.pk}/change/").content.decode()
    assert token.digest not in page
    body = {"action": "revoke", "_selected_action": [str(token.pk)]}
    admin.post("/admin/accounts/apitoken/", body)
    assert not ApiToken.objects.exists()
    assert Api(token=secret).get("/projects/").status_code == 401


def test_audit_trail_is_read_only_in_the_admin(world: World, admin: Client) -> None:
    entry = AuditEntry.objects.first()
    assert entry is not None
    address = f"/admin/accounts/auditentry/{entry.pk}/"
    assert admin.post(f"{address}change/", {"action": "x"}).status_code == 403
    assert admin.post(f"{address}delete/").status_code == 403
    assert admin.get("/admin/accounts/auditentry/add/").status_code == 403
