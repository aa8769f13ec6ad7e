"""The first admin, one-time links, usernames and the audit trail."""

from datetime import timedelta
from io import StringIO

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from paca.accounts import services
from paca.accounts.models import AuditEntry, OneTimeLink, User
from paca.accounts.models.audit import AuditEntryIsImmutable
from paca.accounts.services.people import LinkNotUsable
from paca.common import validation
from paca.common.errors import Invalid
from paca.worker import old_data
from paca.worker.database import Database

pytestmark = pytest.mark.django_db


def test_first_admin_is_made_once() -> None:
    admin = services.make_first_admin()
    assert admin is not None
    assert admin.is_superuser
    assert not admin.has_usable_password()
    assert services.make_first_admin() is None
    assert User.objects.count() == 1


def test_first_admin_can_have_a_password() -> None:
    admin = services.make_first_admin(password="correct horse battery")
    assert admin is not None
    assert admin.check_password("correct horse battery")


def test_expired_sessions_and_links_are_removed_and_valid_ones_stay(client) -> None:
    ada, bob = User.objects.create_user("ada"), User.objects.create_user("bob")
    for user in (ada, bob):
        client.cookies.clear()
        client.force_login(user)
        services.create_one_time_link(user)
    past = timezone.now() - timedelta(seconds=1)
    Session.objects.exclude(pk=client.session.session_key).update(expire_date=past)
    OneTimeLink.objects.filter(user=ada).update(expires_at=past)
    async_to_sync(old_data.remove)(DatabaseOfTest(), lambda: False)
    assert list(Session.objects.values_list("pk", flat=True)) == [client.session.session_key]
    assert OneTimeLink.objects.get().user == bob


class DatabaseOfTest(Database):
    """Calls in the thread and transaction of the test."""

    async def call(self, function, *args, **options):
        return await sync_to_async(function)(*args, **options)


def test_link_is_used_up_by_redeeming_and_not_by_viewing() -> None:
    user = User.objects.create_user("ada")
    secret = services.create_one_time_link(user)
    assert services.get_link_user(secret) == services.get_link_user(secret) == user
    assert services.redeem_link(secret) == user
    with pytest.raises(LinkNotUsable):
        services.redeem_link(secret)
    with pytest.raises(LinkNotUsable):
        services.get_link_user(secret)


def test_newer_link_ends_the_older_one() -> None:
    user = User.objects.create_user("ada")
    older, newer = services.create_one_time_link(user), services.create_one_time_link(user)
    with pytest.raises(LinkNotUsable):
        services.redeem_link(older)
    assert services.redeem_link(newer) == user


def test_link_ends_when_it_expires_or_its_person_is_inactive() -> None:
    user = User.objects.create_user("ada")
    secret = services.create_one_time_link(user)
    OneTimeLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(LinkNotUsable):
        services.redeem_link(secret)
    secret = services.create_one_time_link(user)
    User.objects.update(is_active=False)
    with pytest.raises(LinkNotUsable):
        services.redeem_link(secret)


def test_link_secret_is_not_in_the_database() -> None:
    secret = services.create_one_time_link(User.objects.create_user("ada"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM accounts_onetimelink")
        assert secret not in repr(cursor.fetchall())


def test_sign_in_link_command_prints_a_link_that_works() -> None:
    user = User.objects.create_user("ada")
    out = StringIO()
    call_command("sign_in_link", "ada", stdout=out)
    secret = out.getvalue().strip().rstrip("/").rpartition("/")[2]
    assert services.redeem_link(secret) == user
    with pytest.raises(CommandError, match="There is no person 'bob'"):
        call_command("sign_in_link", "bob")


def test_username_is_unique_in_any_case() -> None:
    User.objects.create_user("ada")
    with pytest.raises(Invalid) as refused:
        validation.check(User(username="Ada", password="x"))
    assert refused.value.fields == {"username": ["This username is taken."]}
    with (
        pytest.raises(IntegrityError, match="username_is_unique_in_any_case"),
        transaction.atomic(),
    ):
        User.objects.create_user("ADA")


@pytest.mark.parametrize("name", ["", "a b", "@ada", "-ada", "ada.", "ädä", "a\n", "x" * 65, "<b>"])
def test_username_has_only_characters_of_a_mention(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        validation.check(User(username=name, password="x"))
    assert set(refused.value.fields) == {"username"}


def test_audit_entry_cannot_be_changed_or_removed() -> None:
    services.make_first_admin()
    entry = AuditEntry.objects.get()
    entry.action = "nothing.happened"
    for attempt in (entry.save, entry.delete, AuditEntry.objects.all().delete):
        with pytest.raises(AuditEntryIsImmutable):
            attempt()
    with pytest.raises(AuditEntryIsImmutable):
        AuditEntry.objects.update(action="nothing.happened")
    with connection.cursor() as cursor, pytest.raises(IntegrityError, match="never_changes"):
        cursor.execute("UPDATE accounts_auditentry SET action = 'nothing.happened'")
