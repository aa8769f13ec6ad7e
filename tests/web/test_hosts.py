"""Host names, and proxies that change them: what works, and what the error pages say."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
ORIGIN = "https://paca.example.org:8443"


def press(host: str, *, origin: str = ORIGIN, **headers: str) -> tuple[int, str]:
    """Send the sign-in form as a browser at ``origin`` does through a proxy that sends ``host``."""
    browser = Client(enforce_csrf_checks=True, headers={"host": host, **headers})
    page = browser.get("/accounts/login/", secure=True)
    token = page.context["csrf_token"]
    form = {"login": "ada", "password": "x", "csrfmiddlewaretoken": str(token)}
    answer = browser.post("/accounts/login/", form, secure=True, headers={"origin": origin})
    return answer.status_code, answer.content.decode()


@pytest.fixture(autouse=True)
def public_name(settings) -> None:
    settings.ALLOWED_HOSTS = ["paca.example.org"]


def test_form_is_accepted_behind_a_proxy_on_any_port_that_passes_the_host_on():
    assert press("paca.example.org:8443")[0] == 200


def test_form_behind_a_proxy_that_drops_the_port_is_refused_with_the_setting_that_helps():
    status, page = press("paca.example.org")
    assert status == 403
    assert "proxy_set_header Host $http_host;" in page
    assert f"CSRF_TRUSTED_ORIGINS={ORIGIN}" in page


def test_form_is_accepted_from_a_trusted_origin(settings):
    settings.CSRF_TRUSTED_ORIGINS = [ORIGIN]
    assert press("paca.example.org")[0] == 200


def test_origin_on_the_error_page_is_text():
    page = press("paca.example.org", origin="https://<script>")[1]
    assert "<script>" not in page.replace("<script ", "")
    assert "&lt;script&gt;" in page


def test_unknown_host_name_is_refused_with_the_setting_that_helps(caplog):
    answer = Client().get("/accounts/login/", headers={"host": "<b>.example"})
    assert answer.status_code == 400
    page = answer.content.decode()
    assert "ALLOWED_HOSTS" in page
    assert "&lt;b&gt;.example" in page
