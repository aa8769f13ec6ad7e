"""Signing in with a username and a password, and changing the password."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import NoReverseMatch, reverse

from paca.accounts.models import AuditEntry, User

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def reset_rate_limits() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", password=PASSWORD)


def sign_in(client: Client, **given: str) -> Any:
    return client.post("/accounts/login/", {"login": "ada", "password": PASSWORD, **given})


def test_sign_in_with_the_password_succeeds_and_is_audited(ada: User) -> None:
    client = Client()
    answer = sign_in(client, login="ADA")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert client.session["_auth_user_id"] == str(ada.pk)
    assert AuditEntry.objects.get(action="person.signed_in").actor_id == ada.pk


def test_sign_in_refuses_a_wrong_password_and_an_unknown_name_with_the_same_text(ada: User) -> None:
    wrong, unknown = sign_in(Client(), password="wrong"), sign_in(Client(), login="bob")
    assert wrong.context["form"].errors == unknown.context["form"].errors
    assert "are not correct" in str(wrong.context["form"].errors)


ATTACKER, HOME = {"REMOTE_ADDR": "198.51.100.9"}, {"REMOTE_ADDR": "192.0.2.1"}
LOCKED = "Too many failed login attempts"


def errors(answer: Any) -> str:
    return str(answer.context["form"].errors) if answer.context else ""


def known_device(**headers: str) -> Client:
    """A browser in which ada has signed in, and out again."""
    browser = Client(**headers)
    assert sign_in(browser).status_code == 302
    browser.post("/accounts/logout/")
    return browser


def fail(times: int, name: str = "ada", **headers: str) -> None:
    for _ in range(times):
        sign_in(Client(**headers), login=name, password="wrong")


@pytest.mark.parametrize("name", ["ada", "nobody"])
def test_sign_in_is_locked_for_the_address_that_guesses_whether_or_not_the_name_exists(
    ada: User, name: str
) -> None:
    fail(5, name, **ATTACKER)
    assert LOCKED in errors(sign_in(Client(**ATTACKER), login=name))


def test_sign_in_is_open_for_the_person_while_a_stranger_guesses(ada: User) -> None:
    fail(20, **ATTACKER)
    assert sign_in(Client(**HOME)).status_code == 302


def test_address_that_guesses_many_names_is_locked_for_all(ada: User) -> None:
    for number in range(10):
        fail(1, f"name{number}", **ATTACKER)
    assert LOCKED in errors(sign_in(Client(**ATTACKER)))
    assert sign_in(Client(**HOME)).status_code == 302


def test_known_device_gets_in_while_many_addresses_or_its_own_network_guess(ada: User) -> None:
    device = known_device(**HOME)
    fail(15, **HOME)
    for number in range(60):
        fail(1, REMOTE_ADDR=f"203.0.113.{number}")
    assert LOCKED in errors(sign_in(Client(REMOTE_ADDR="192.0.2.77")))
    assert sign_in(device).status_code == 302


def test_known_device_of_one_person_is_a_stranger_for_another_name(ada: User) -> None:
    User.objects.create_user("bob", password=PASSWORD)
    device = known_device(**ATTACKER)
    for _ in range(5):
        sign_in(device, login="bob", password="wrong")
    assert LOCKED in errors(sign_in(device, login="bob"))


def test_known_device_has_a_limit_of_its_own(ada: User) -> None:
    device = known_device(**HOME)
    for _ in range(10):
        sign_in(device, password="wrong")
    assert LOCKED in errors(sign_in(device))


def test_name_with_control_characters_does_not_break_the_log(ada: User, caplog: Any) -> None:
    assert sign_in(Client(), login="ada\x1b[2J\n12:00:00 forged").status_code == 200


def test_password_change_is_audited_and_ends_other_sessions(ada: User) -> None:
    this_browser, other_browser = Client(), Client()
    for client in (this_browser, other_browser):
        client.force_login(ada)
    fresh = {"oldpassword": PASSWORD, "password1": "new horse 77", "password2": "new horse 77"}
    assert this_browser.post("/accounts/password/change/", fresh).status_code == 302
    assert this_browser.get("/api/v1/tokens/").status_code == 200
    assert other_browser.get("/api/v1/tokens/").status_code == 401
    assert AuditEntry.objects.get(action="person.password_changed").actor_name == "ada"


def test_message_is_shown_after_setting_a_password_and_not_after_signing_in() -> None:
    invited = User.objects.create_user("eve", password=None)
    client = Client()
    client.force_login(invited)
    fresh = {"password1": "new horse 77", "password2": "new horse 77"}
    answer = client.post("/accounts/password/set/", fresh, follow=True)
    assert "The password is set." in answer.content.decode()
    assert 'name="oldpassword"' not in answer.content.decode()
    fresh_client = Client()
    sign_in(fresh_client, login="eve", password="new horse 77")
    assert 'class="notice"' not in fresh_client.get("/").content.decode()


def test_sign_in_does_not_redirect_to_another_site(ada: User) -> None:
    answer = sign_in(Client(), next="https://evil.example/")
    assert answer.headers["Location"] == "/"


def test_sign_up_and_password_reset_by_mail_do_not_exist() -> None:
    for name in ("account_signup", "account_reset_password", "account_email"):
        with pytest.raises(NoReverseMatch):
            reverse(name)


def test_session_request_without_a_csrf_token_is_refused(ada: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    refused = client.post("/api/v1/tokens/", {"name": "x"}, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "csrf_failed")
