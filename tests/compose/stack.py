"""compose.yml on this machine's Docker, as a person would start it, with images made here."""

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
    """A command to its end; gives what it wrote."""
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
    """The plugin of today, or the program of its own that Debian 12 has; empty if there is none."""
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
            "DOCKER_BUILDKIT": "0",  # the base image is a local one, which BuildKit would look for elsewhere
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
        self.web = Running(process=None, port=self.port)  # type: ignore[arg-type] # not ours

    def build(self, base: str) -> None:
        """The images: both are there already, after the first time, but for what has changed."""
        services = str(HERE / "services")
        run("docker", "build", "--quiet", "--tag", SERVICES_IMAGE, "--build-arg", f"BASE={base}", services,
            DOCKER_BUILDKIT="0")  # fmt: skip
        self("build", "web")

    def __call__(self, *arguments: str, **environment: str) -> str:
        """``docker compose`` with these arguments."""
        return run(
            *compose_program(),
            "--file",
            "compose.yml",
            *arguments,
            **(self.environment | environment),
        )

    def containers(self, service: str = "") -> list[dict]:
        """What ``docker inspect`` says of the containers of a service, or of all, also ended ones."""
        labels = [f"label=com.docker.compose.project={self.name}"]
        labels += [f"label=com.docker.compose.service={service}"] if service else []
        filters = [word for label in labels for word in ("--filter", label)]
        found = run("docker", "ps", "--all", "--quiet", *filters).split()
        return json.loads(run("docker", "inspect", *found)) if found else []

    def health(self, service: str) -> list[str]:
        return [each["State"]["Health"]["Status"] for each in self.containers(service)]

    def left(self) -> str:
        """Everything on the daemon that bears the project's name."""
        owned = ("--quiet", "--filter", f"label=com.docker.compose.project={self.name}")
        return "".join(
            run("docker", *kind, *owned)
            for kind in (("ps", "--all"), ("volume", "ls"), ("network", "ls"))
        )

    def sign_in(self) -> "SignedIn":
        """As admin, by the page where people do."""
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
        assert "/accounts/login" not in answer.url, "the password was not taken"
        return SignedIn(self.web, {cookie.name: str(cookie.value) for cookie in jar})


class SignedIn(ApiClient):
    """A person by the cookies of a browser."""

    def __init__(self, web: Running, cookies: dict[str, str]) -> None:
        super().__init__(web, "")
        self._cookies = cookies

    @property
    def headers(self) -> dict[str, str]:
        jar = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        return {"Cookie": jar, "X-CSRFToken": self._cookies["csrftoken"]}

    def guide(self) -> RemoteAgent:
        """The demo agent, which needs no network."""
        (guide,) = self.api("GET", f"{self.project}/agents/")["results"]
        return RemoteAgent(self, f"{self.project}/agents/{guide['id']}")
