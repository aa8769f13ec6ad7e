"""API tokens: their secrets, scopes, expiry and revocation."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.utils import timezone

from paca.accounts.models import ApiToken, AuditEntry, User
from paca.accounts.services import tokens
from paca.projects.services import projects
from tests.support.api import Api
from tests.support.world import make_world

pytestmark = pytest.mark.django_db


def create_token(*arguments: str) -> str:
    out = StringIO()
    call_command("create_token", *arguments, stdout=out)
    return out.getvalue().split()[-1]


def test_create_token_command_prints_a_working_token_as_its_last_word() -> None:
    world = make_world()
    secret = create_token(world.user.username, "--name", "deploy", "--scope", "agents:read")
    assert secret.startswith("paca_")
    path = f"/projects/{world.project.pk}"
    assert Api(token=secret).get(f"{path}/agents/").status_code == 200
    refused = Api(token=secret).get(f"{path}/members/")
    assert (refused.status_code, refused.data["code"]) == (403, "out_of_scope")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "There is no person 'nobody'. There are: ada."),
        (["ada", "--scope", "agents:fly"], "agents:fly: no such permission."),
        (["ada", "--name", "x" * 101], "at most 100 characters"),
        (["ada", "--days", "0"], "--days must be between 1 and"),
    ],
)
def test_create_token_command_names_the_wrong_argument(arguments: list[str], message: str) -> None:
    User.objects.create_user("ada")
    with pytest.raises(CommandError, match=message) as refused:
        call_command("create_token", *arguments)
    assert refused.value.returncode == 1
    assert not ApiToken.objects.exists()


def test_token_secret_is_nowhere_in_the_database() -> None:
    user = User.objects.create_user("ada")
    _, secret = tokens.create(user, name="script", by=user)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM accounts_apitoken")
        row = repr(cursor.fetchall())
        cursor.execute("SELECT facts, object_name FROM accounts_auditentry")
        row += repr(cursor.fetchall())
    assert secret not in row
    assert secret[15:] not in row


def test_revoked_token_is_refused_with_its_next_request() -> None:
    user = User.objects.create_user("ada")
    token, secret = tokens.create(user, name="script", by=user)
    script = Api(token=secret)
    assert script.get("/projects/").status_code == 200
    Api(user).delete(f"/tokens/{token.pk}/")
    refused = script.get("/projects/")
    assert (refused.status_code, refused.data["code"]) == (401, "authentication_failed")
    assert refused.headers["WWW-Authenticate"] == "Bearer"


def test_expired_token_and_token_of_an_inactive_person_are_refused() -> None:
    user = User.objects.create_user("ada")
    token, secret = tokens.create(user, name="script", lifetime=timedelta(days=1), by=user)
    script = Api(token=secret)
    assert script.get("/projects/").status_code == 200
    ApiToken.objects.filter(pk=token.pk).update(expiry=timezone.now() - timedelta(seconds=1))
    assert script.get("/projects/").status_code == 401
    ApiToken.objects.filter(pk=token.pk).update(expiry=None)
    assert script.get("/projects/").status_code == 200
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert script.get("/projects/").status_code == 401


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer a b",
        "Bearer paca_",
        "Bearer paca_" + "0" * 64,
        "Bearer \xff\xfe",
        "Bearer ",
    ],
)
def test_malformed_token_is_refused(header: str) -> None:
    api = Api()
    api.client.credentials(HTTP_AUTHORIZATION=header)
    refused = api.get("/projects/")
    assert refused.status_code == 401


def test_tokens_are_listed_and_revoked_only_by_their_owner() -> None:
    ada, bob = User.objects.create_user("ada"), User.objects.create_user("bob")
    made = Api(ada).post("/tokens/", {"name": "ci", "scopes": ["agents:*"], "lasts_days": 7})
    assert made.status_code == 201
    assert Api(token=made.data["token"]).get("/tokens/").status_code == 403
    listed = Api(ada).get("/tokens/").data["results"]
    assert [(row["name"], row["scopes"]) for row in listed] == [("ci", ["agents:*"])]
    assert "token" not in listed[0]
    assert Api(bob).get("/tokens/").data["results"] == []
    assert Api(bob).delete(f"/tokens/{made.data['id']}/").status_code == 404
    assert Api(ada).delete(f"/tokens/{made.data['id']}/").status_code == 204


def test_token_cannot_make_another_token() -> None:
    user = User.objects.create_user("ada")
    refused = Api.by_token(user).post("/tokens/", {"name": "heir"})
    assert (refused.status_code, refused.data["code"]) == (403, "only_by_hand")


def test_last_use_of_a_token_is_stored_at_most_once_a_minute() -> None:
    user = User.objects.create_user("ada")
    token, secret = tokens.create(user, name="script", by=user)
    assert token.last_used_at is None
    Api(token=secret).get("/projects/")
    token.refresh_from_db()
    first = token.last_used_at
    assert first is not None
    Api(token=secret).get("/projects/")
    token.refresh_from_db()
    assert token.last_used_at == first


@pytest.mark.django_db(transaction=True)  # like a served request: without an outer transaction
def test_token_can_read_while_its_last_use_cannot_be_stored() -> None:
    _, secret = tokens.create(user := User.objects.create_user("ada"), name="script", by=user)
    refused = []

    def refuse_update(execute, sql, params, many, context):
        if sql.startswith("UPDATE") and ApiToken._meta.db_table in sql:
            refused.append(sql)
            raise OperationalError("disk full")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse_update):
        assert Api(token=secret).get("/projects/").status_code == 200
    assert refused


def test_token_whose_only_scope_no_longer_exists_allows_nothing() -> None:
    world = make_world()
    token, secret = tokens.create(world.user, name="old", by=world.user)
    ApiToken.objects.filter(pk=token.pk).update(scopes=["deploys:read"])
    api = Api(token=secret)
    for path in ("/projects/", f"/projects/{world.project.pk}/", "/workspaces/"):
        refused = api.get(path)
        assert (refused.status_code, refused.data["code"]) == (403, "out_of_scope")


def test_audit_trail_names_the_token_as_actor() -> None:
    world = make_world()
    api = Api.by_token(world.user)
    api.patch(f"/projects/{world.project.pk}/", {"description": "New"}, X_Request_ID="request-1234")
    entry = AuditEntry.objects.get(action="project.changed")
    assert (entry.actor, entry.actor_name) == ("token", "test")
    assert (entry.facts["acting_for"], entry.request_id) == (world.user.username, "request-1234")


def test_audit_trail_names_the_token_only_during_its_request() -> None:
    world = make_world()
    Api.by_token(world.user).patch(f"/projects/{world.project.pk}/", {"description": "New"})
    projects.change(world.project, by=world.owner, description="Newer")
    entries = AuditEntry.objects.filter(action="project.changed")
    assert {entry.actor_name for entry in entries} == {"test", world.user.username}
