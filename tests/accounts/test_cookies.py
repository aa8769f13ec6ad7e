"""Cookies of two installations on one host name, of which browsers send all to both."""

import pytest
from django.conf import settings
from django.test import Client

from paca.accounts.models import User
from paca.installation_keys import cookie_name

pytestmark = pytest.mark.django_db


def test_cookies_of_an_installation_carry_its_own_name() -> None:
    User.objects.create_user("ada", password="correct horse battery")
    browser = Client()
    browser.get("/accounts/login/")
    browser.post("/accounts/login/", {"login": "ada", "password": "correct horse battery"})
    own = {cookie_name(each, settings.SECRET_KEY) for each in ("session", "csrf", "device")}
    assert set(browser.cookies) == own
    others = {cookie_name(each, "the key of another installation") for each in ("session", "csrf")}
    assert not own & others


def test_sign_in_next_door_does_not_sign_out_here() -> None:
    browser = Client()
    browser.force_login(User.objects.create_user("ada"))
    for purpose in ("session", "csrf", "device"):
        browser.cookies[cookie_name(purpose, "the key of another installation")] = "x" * 32
    assert browser.get("/api/v1/tokens/").status_code == 200
