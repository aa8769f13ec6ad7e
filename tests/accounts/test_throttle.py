"""The rate limit of each person and each token."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache

from paca.common.api.throttling import RequestsPerMinute
from tests.support.api import Api
from tests.support.world import make_world

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def limit_of_three_requests_a_minute(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    cache.clear()
    monkeypatch.setattr(RequestsPerMinute, "rate", "3/min", raising=False)
    yield
    cache.clear()


def statuses(api: Api, count: int) -> list[int]:
    return [api.get("/workspaces/").status_code for _ in range(count)]


def test_throttled_request_says_when_to_try_again() -> None:
    api = Api(make_world().user)
    assert statuses(api, 3) == [200] * 3
    refused = api.get("/workspaces/")
    assert (refused.status_code, refused.data["code"]) == (429, "throttled")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60


def test_throttle_counts_each_person_and_each_token_separately() -> None:
    ada, bob = make_world("One").user, make_world("Two").user
    assert statuses(Api(ada), 3) == statuses(Api(bob), 3) == [200] * 3
    assert statuses(Api.by_token(ada), 3) == statuses(Api.by_token(ada), 3) == [200] * 3


def test_throttle_ignores_a_forged_forwarded_header() -> None:
    answers: list[Any] = [
        Api().get("/docs/", X_Forwarded_For=f"10.0.0.{number}") for number in range(4)
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
