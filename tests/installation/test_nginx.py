"""The nginx block of the page on deployment, as it stands there, before a real installation."""

import http.client
import json
import re
import shutil
import ssl
import subprocess
import textwrap
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.installation.api_client import ApiClient
from tests.installation.manage_process import ROOT, Answer, Installation, Running
from tests.support import ports
from tests.support.flow import wait_until
from tests.support.tls_proxy import make_certificate

pytestmark = pytest.mark.service
MIB = 1024 * 1024
# What the documented block stands in: a server with TLS, without the folders of a system's nginx.
AROUND = """
worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    {mapping}
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {folder}/certificate.pem; ssl_certificate_key {folder}/key.pem;
        {location}
    }}
}}
"""


def documented_block() -> tuple[str, str]:
    """The ``map`` and the ``location`` of the page."""
    page = (ROOT / "docs/deployment.md").read_text()
    found = re.search(r"( +map \$http_upgrade.*?\n)\n( +location / \{.*?\n +\}\n)", page, re.DOTALL)
    assert found
    return textwrap.dedent(found[1]), textwrap.dedent(found[2])


class Proxied:
    """The installation as people reach it: by HTTPS, through nginx."""

    def __init__(self, folder: Path, port: int) -> None:
        self.origin = f"https://127.0.0.1:{port}"
        self.port = port
        self.tls = ssl.create_default_context(cafile=str(folder / "certificate.pem"))
        self.cookies: dict[str, str] = {}

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        line = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=30)
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        line.request(method, path, body, {"Cookie": cookies, **headers})
        got = line.getresponse()
        answer = Answer(got.status, got.headers, got.read())
        line.close()
        for cookie in answer.headers.get_all("Set-Cookie", []):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer


@pytest.fixture(scope="module")
def site(
    running_installation: tuple[Installation, Running], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxied]:
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin")
    if nginx is None:
        pytest.skip("nginx is not installed: apt install nginx-light")
    folder, port = tmp_path_factory.mktemp("nginx"), ports.free()
    make_certificate(folder / "certificate.pem", folder / "key.pem")
    mapping, location = documented_block()
    location = location.replace("127.0.0.1:8000", f"127.0.0.1:{running_installation[1].port}")
    facts = {"folder": folder, "port": port, "mapping": mapping, "location": location}
    (folder / "nginx.conf").write_text(AROUND.format(**facts))
    # As its own user: the folder of a test is for the user of the test alone.
    command = [nginx, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "user root;"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    proxied = Proxied(folder, port)
    try:
        wait_until(lambda: answers(proxied), describe=lambda: (folder / "error.log").read_text())
        yield proxied
    finally:
        process.terminate()
        _, said = process.communicate(timeout=20)
    assert b"emerg" not in said


def answers(site: Proxied) -> bool:
    try:
        return site.ask("GET", "/healthz").status == 200
    except OSError:
        return False


def test_pages_behind_nginx_are_reached_by_https_with_secure_cookies(site, running_installation):
    installation, _ = running_installation
    link = installation.run("sign_in_link", "admin").stdout.strip().splitlines()[-1]
    path = urllib.parse.urlsplit(link.split()[-1]).path
    page = site.ask("GET", path)
    assert "Strict-Transport-Security" in page.headers
    token = re.search(rb'name="csrfmiddlewaretoken" value="([^"]+)"', page.body)
    assert token, page.body
    form = urllib.parse.urlencode({"csrfmiddlewaretoken": token[1].decode()}).encode()
    signed_in = site.ask(
        "POST",
        path,
        form,
        Origin=site.origin,
        **{"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert signed_in.status == 302, signed_in.body
    cookies = signed_in.headers.get_all("Set-Cookie")
    assert cookies
    assert all("Secure" in cookie for cookie in cookies)
    address = signed_in.headers["Location"]
    assert address.startswith(("/", site.origin)), address
    while (home := site.ask("GET", urllib.parse.urlsplit(address).path)).status == 302:
        address = home.headers["Location"]
    script = re.search(rb'src="(/static/[^"]+\.js)"', home.body)
    assert script, home.status
    assert site.ask("GET", script[1].decode()).status == 200


def test_socket_behind_nginx_follows_a_conversation(site, running_installation):
    client = ApiClient(*running_installation)
    begun = client.begin("Hello").json()["conversation"]
    address = f"wss://127.0.0.1:{site.port}/ws/conversations/{begun}/?after=0"
    token = {"Authorization": f"Bearer {client.token}"}
    with connect(address, ssl=site.tls, additional_headers=token) as socket:
        frames = iter(lambda: json.loads(socket.recv(20)), None)
        assert next(each for each in frames if each["type"] == "agent.message.received")


@pytest.mark.parametrize(("size", "by"), [(3 * MIB, "Paca"), (22 * MIB, "nginx")])
def test_body_over_the_limit_is_refused_behind_nginx(site, running_installation, size, by):
    client = ApiClient(*running_installation)
    token = {"Authorization": f"Bearer {client.token}"}
    for _ in range(5):
        answer = site.ask("POST", f"{client.project}tasks/", b"x" * size, **token)
        assert answer.status == 413
        assert (b"too_large" in answer.body) == (by == "Paca"), answer.body
