"""Pages while the disk of the database is full."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import OperationalError, connection
from django.test import Client

from paca.common import disk_space
from tests.support.world import World

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery staple"


@pytest.fixture(autouse=True)
def told_anew(monkeypatch) -> None:
    monkeypatch.setattr(disk_space, "_full_until", 0.0)


@contextmanager
def no_room() -> Iterator[None]:
    """A database whose disk is full: reads work and writes fail."""

    def refuse(execute, sql, params, many, context):
        if sql.startswith(("INSERT", "UPDATE")):
            raise OperationalError from psycopg.errors.DiskFull("could not extend file")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        yield


def test_sign_in_page_says_that_the_disk_of_the_database_is_full(harbor: World):
    harbor.user.set_password(PASSWORD)
    harbor.user.save()
    client = Client(raise_request_exception=False)
    with no_room():
        answer = client.post(
            "/accounts/login/", {"login": harbor.user.username, "password": PASSWORD}
        )
    assert_says_so(client, answer)


def test_admin_says_that_the_disk_of_the_database_is_full(harbor: World):
    harbor.user.is_staff = harbor.user.is_superuser = True
    harbor.user.save()
    client = Client(raise_request_exception=False)
    client.force_login(harbor.user)
    person = {"username": "bob", "name": "Bob", "usable_password": "false"}
    with no_room():
        answer = client.post("/admin/accounts/user/add/", person)
    assert_says_so(client, answer)


def assert_says_so(client: Client, answer) -> None:
    assert answer.status_code == 503
    assert "The disk of the database is full" in answer.content.decode()
    assert client.get("/readyz").json()["parts"]["disk"] == "the disk of the database is full"
