"""The Content-Security-Policy of pages, and the caching of static files."""

import re
import subprocess
import sys

import pytest
from django.http import HttpResponse
from django.templatetags.static import static
from django.test import Client

from paca.web import static_storage
from paca.web.middleware.static_files import StaticFiles

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none';"
    " form-action 'self'; trusted-types lit-html dompurify; require-trusted-types-for 'script'"
)


def directives(policy: str) -> set[str]:
    return {part.strip() for part in policy.split(";") if part.strip()}


@pytest.mark.parametrize("path", ["/", "/accounts/login/", "/styleguide/", "/nowhere/"])
def test_pages_send_the_strict_content_security_policy(ada: Client, path: str) -> None:
    found = ada.get(path, follow=True).headers["Content-Security-Policy"]
    assert directives(found) == directives(POLICY)


@pytest.mark.django_db
def test_admin_policy_is_wider_and_allows_no_inline_scripts(client: Client) -> None:
    found = client.get("/admin/login/").headers["Content-Security-Policy"]
    assert "script-src 'self' 'unsafe-eval'" in found
    assert "require-trusted-types-for" not in found
    assert "script-src 'self' 'unsafe-inline'" not in found


def served(client: Client, path: str, **headers: str):
    return client.get(static(path), headers=headers)


def test_static_files_are_immutable_because_their_url_holds_the_digest(client: Client) -> None:
    answer = served(client, "paca/core/store.js")
    assert answer.status_code == 200
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert re.fullmatch(r"/static/[0-9a-f]{10}/paca/core/store.js", static("paca/core/store.js"))


@pytest.mark.parametrize("prefix", ["/static/", "/static/0123456789/"])
def test_static_files_are_served_under_the_present_digest_only(client: Client, prefix: str) -> None:
    assert client.get(f"{prefix}paca/core/store.js").status_code == 404


def test_static_files_found_at_the_start_all_have_the_digest_in_their_url(settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = False  # as in the product, unlike in the other tests
    files = StaticFiles(lambda request: HttpResponse()).files
    prefix = f"/static/{static_storage.static_digest()}/"
    assert f"{prefix}paca/core/api.js" in files
    assert [url for url in files if not url.startswith(prefix)] == []


def test_static_files_have_no_digest_and_are_not_kept_with_debug(client: Client, settings) -> None:
    settings.DEBUG = True
    assert static("paca/core/store.js") == "/static/paca/core/store.js"
    answer = served(client, "paca/core/store.js")
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "max-age=0, public"


def test_static_digest_changes_with_the_content_of_the_files(tmp_path) -> None:
    (tmp_path / "a.js").write_text("one")
    before = static_storage.compute_digest(tmp_path)
    (tmp_path / "a.js").write_text("two")
    assert static_storage.compute_digest(tmp_path) != before


def test_admin_links_the_versioned_favicon(admin_client: Client) -> None:
    assert static("paca/icons/favicon.svg") in admin_client.get("/admin/").content.decode()


SETTINGS_ONLY = """
import sys
import paca.settings
assert not [name for name in sys.modules if name.startswith("paca.web")]
"""


def test_settings_import_nothing_of_the_pages() -> None:
    subprocess.run([sys.executable, "-c", SETTINGS_ONLY], check=True, timeout=60)


def test_static_files_are_compressed_if_the_browser_accepts_it(client: Client) -> None:
    plain = served(client, "paca/components.css")
    zipped = served(client, "paca/components.css", accept_encoding="gzip, br")
    assert "Content-Encoding" not in plain.headers
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert int(zipped.headers["Content-Length"]) == len(zipped.content) < len(plain.content) / 2
    assert zipped.headers["Vary"] == "Accept-Encoding"


def test_static_files_are_not_sent_again_when_unchanged(client: Client) -> None:
    first = served(client, "paca/core/store.js")
    again = served(client, "paca/core/store.js", if_modified_since=first.headers["Last-Modified"])
    assert (again.status_code, again.content) == (304, b"")
