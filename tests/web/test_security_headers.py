"""The security headers and cookie flags of every response."""

import pytest
from django.templatetags.static import static

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@pytest.mark.parametrize("name", HEADERS)
def test_responses_have_the_strict_headers(client, name):
    assert client.get("/healthz").headers[name] == HEADERS[name]


def test_responses_forbid_devices_and_content_of_other_sites(client):
    headers = client.get("/healthz").headers
    assert "camera=()" in headers["Permissions-Policy"]
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]


def test_not_found_responses_have_the_strict_headers(client):
    answer = client.get("/no-such-page/")
    assert answer.status_code == 404
    assert answer.headers["X-Frame-Options"] == "DENY"


@pytest.mark.django_db
def test_cookies_are_secure_over_https(client):
    for cookie in client.get("/accounts/login/", secure=True).cookies.values():
        assert cookie["secure"], cookie.key
        assert cookie["samesite"] == "Lax"


@pytest.mark.django_db
def test_cookies_work_on_plain_loopback(client):
    cookies = client.get("/accounts/login/").cookies
    assert cookies
    assert not any(cookie["secure"] for cookie in cookies.values())


@pytest.mark.django_db
def test_hsts_is_sent_over_https(client):
    assert (
        "max-age=31536000"
        in client.get("/accounts/login/", secure=True).headers["Strict-Transport-Security"]
    )
    assert "Strict-Transport-Security" not in client.get("/accounts/login/").headers


def test_unknown_host_names_are_refused(client):
    assert client.get("/accounts/login/", headers={"host": "evil.example"}).status_code == 400


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address", ["/", "/accounts/login/", "/api/v1/projects/", "/api/v1/docs/", "/no-such-page/"]
)
def test_private_responses_are_kept_by_no_cache(client, address):
    directives = client.get(address).headers["Cache-Control"].split(", ")
    assert {"private", "no-store"} <= set(directives)


def test_static_files_may_be_kept_for_ever(client):
    answer = client.get(static("paca/tokens.css"))
    assert answer.status_code == 200
    assert "immutable" in answer.headers["Cache-Control"]
