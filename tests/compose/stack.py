"""Starts compose.yml on this machine's Docker, as a person would, with images that are built here."""

import functools
import json
import os
import re
import secrets
import shutil
import subprocess
import urllib.parse
import urllib.request
from base64 import urlsafe_b64encode
from http.cookiejar import CookieJar
from pathlib import Path

from tests.installation.manage_process import ROOT, Running
from tests.support import ports
from tests.support.split_deployment import ApiClient, RemoteAgent

HERE = Path(__file__).parent
SERVICES_IMAGE = "paca-test-services:1"
PACA_IMAGE = "paca-test:1"
PASSWORD = "a long password 7"


def run(*command: str, **environment: str) -> str:
    """Run a command to its end; gives its output."""
    ended = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ended.returncode == 0, (
        f"{' '.join(command)}\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}"
    )
    return ended.stdout


@functools.cache
def compose_program() -> tuple[str, ...]:
    """The command of Compose: the plugin, or the separate program of Debian 12. Empty if there is neither."""
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    if plugin.returncode == 0:
        return ("docker", "compose")
    return ("docker-compose",) if shutil.which("docker-compose") else ()


def socket_group() -> str:
    return str(Path("/var/run/docker.sock").stat().st_gid)


class Stack:
    """One project of Compose with secrets, a name and a port of its own."""

    def __init__(self, base: str) -> None:
        self.port = ports.free()
        self.name = f"paca-test-{secrets.token_hex(4)}"
        self.environment = {
            "COMPOSE_PROJECT_NAME": self.name,
            "DOCKER_BUILDKIT": "0",  # BuildKit does not find the local base image
            "COMPOSE_DOCKER_CLI_BUILD": "0",
            "BASE": base,
            "PACA_IMAGE": PACA_IMAGE,
            "POSTGRES_IMAGE": SERVICES_IMAGE,
            "VALKEY_IMAGE": SERVICES_IMAGE,
            "SECRET_KEY": secrets.token_urlsafe(48),
            "ENCRYPTION_KEY": urlsafe_b64encode(os.urandom(32)).decode(),
            "POSTGRES_PASSWORD": secrets.token_hex(24),
            "PACA_ADMIN_PASSWORD": PASSWORD,
            "PACA_PUBLISH": f"127.0.0.1:{self.port}",
            "DOCKER_GID": socket_group(),
        }
        self.web = Running(process=None, port=self.port)  # type: ignore[arg-type] # Compose runs it

    def build(self, base: str) -> None:
        """Build both images. After the first time Docker builds only what has changed."""
        services = str(HERE / "services")
        run("docker", "build", "--quiet", "--tag", SERVICES_IMAGE, "--build-arg", f"BASE={base}", services,
            DOCKER_BUILDKIT="0")  # fmt: skip
        self("build", "web")

    def __call__(self, *arguments: str, **environment: str) -> str:
        """Run ``docker compose`` with these arguments; gives its output."""
        return run(
            *compose_program(),
            "--file",
            "compose.yml",
            *arguments,
            **(self.environment | environment),
        )

    def containers(self, service: str = "") -> list[dict]:
        """The output of ``docker inspect`` for all containers of a service, or of the project, also ended ones."""
        labels = [f"label=com.docker.compose.project={self.name}"]
        labels += [f"label=com.docker.compose.service={service}"] if service else []
        filters = [word for label in labels for word in ("--filter", label)]
        found = run("docker", "ps", "--all", "--quiet", *filters).split()
        return json.loads(run("docker", "inspect", *found)) if found else []

    def health(self, service: str) -> list[str]:
        return [each["State"]["Health"]["Status"] for each in self.containers(service)]

    def leftovers(self) -> str:
        """The ids of all containers, volumes and networks of the project."""
        owned = ("--quiet", "--filter", f"label=com.docker.compose.project={self.name}")
        return "".join(
            run("docker", *kind, *owned)
            for kind in (("ps", "--all"), ("volume", "ls"), ("network", "ls"))
        )

    def sign_in(self) -> "SignedIn":
        """Sign in as admin on the sign-in page."""
        jar = CookieJar()
        browser = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(jar)
        )
        address = f"http://127.0.0.1:{self.port}/accounts/login/"
        page = browser.open(address, timeout=20).read().decode()
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert token, page[:500]
        form = {"login": "admin", "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
        answer = browser.open(address, urllib.parse.urlencode(form).encode(), timeout=20)
        assert "/accounts/login" not in answer.url, "the password was refused"
        return SignedIn(self.web, {cookie.name: str(cookie.value) for cookie in jar})


class SignedIn(ApiClient):
    """A client of the API with the cookies of a signed-in browser."""

    def __init__(self, web: Running, cookies: dict[str, str]) -> None:
        super().__init__(web, "")
        self._cookies = cookies
        (self._csrf_token,) = (cookies[name] for name in cookies if name.startswith("paca_csrf_"))

    @property
    def headers(self) -> dict[str, str]:
        jar = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        return {"Cookie": jar, "X-CSRFToken": self._csrf_token}

    def guide(self) -> RemoteAgent:
        """The demo agent, which needs no network."""
        (guide,) = self.api("GET", f"{self.project}/agents/")["results"]
        return RemoteAgent(self, f"{self.project}/agents/{guide['id']}")
