"""A split deployment: web servers and workers as separate processes, on PostgreSQL and Valkey."""

import http.client
import json
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from tests.installation.manage_process import Installation, Running
from tests.realtime.pages import Page
from tests.support import runners
from tests.support.flow import ALLOWED, wait_until
from tests.support.model_server import ModelServer
from tests.support.postgres_server import PostgresServer
from tests.support.world import MODEL

SECRETS = {
    "SECRET_KEY": "apart-only-0123456789abcdefghijklmnopqrstuvwxyz-0123456789",
    "ENCRYPTION_KEY": "iF5gV2d3cXh1eWJtdmF3cXJ0c2x6a2puZ2h1aW9wYXM=",
}
PASSWORD = "a long password 7"
IDLE_STATUSES = ("finished", "paused", "failed", "stopped")
READY = r"Worker\s+takes up to"


class SplitDeployment:
    """The processes of one installation. Its workers share a data folder, as on one host."""

    def __init__(
        self, folder: Path, postgres: PostgresServer, redis_url: str, **given: str
    ) -> None:
        self.postgres = postgres
        self.database = f"split_{uuid4().hex[:12]}"
        postgres.execute(f"CREATE DATABASE {self.database}", database="postgres")
        self.environment = {
            "DATABASE_URL": postgres.url_of(self.database),
            "REDIS_URL": redis_url,
            "PACA_ADMIN_PASSWORD": PASSWORD,
            "PACA_SANDBOX": "bubblewrap",
            "API_REQUESTS_PER_MINUTE": "100000",  # tests poll the API
            **SECRETS,
            **given,
        }
        self._folder = folder
        self._installations: list[Installation] = []
        self._workers: list[Running] = []

    def installation(self, name: str) -> Installation:
        """An installation with a data folder of this name."""
        found = Installation(self._folder / name)
        self._installations.append(found)
        return found

    def web(self, name: str, **given: str) -> Running:
        """Start a web server and wait until it answers."""
        return self.installation(name).up("--no-worker", **(self.environment | given))

    def workers(self, count: int) -> list[Running]:
        """Start or end workers until there are ``count``; gives those that run."""
        self._workers = [each for each in self._workers if each.process.poll() is None]
        for surplus in self._workers[count:]:
            assert end(surplus) == 0, surplus.output
        del self._workers[count:]
        missing = count - len(self._workers)
        with ThreadPoolExecutor(max(1, missing)) as pool:
            self._workers += pool.map(lambda _: self._worker(), range(missing))
        return list(self._workers)

    def _worker(self) -> Running:
        environment = {"WORKER_LEASE_SECONDS": "3", **self.environment}
        started = self.installation("workers").up_until(READY, "run_worker", **environment)
        assert started.process.poll() is None, started.output
        return started

    def client(self, web: Running) -> "ApiClient":
        """A client with a token of the admin."""
        ended = self.installation("token").run("create_token", "admin", **self.environment)
        assert ended.returncode == 0, ended.stderr
        return ApiClient(web, ended.stdout.split()[-1])

    def owner_of(self, conversation: str, workers: list[Running]) -> Running:
        """The worker process that runs the conversation now."""

        def held() -> Running | None:
            statement = "SELECT lease_owner FROM conversations_conversation WHERE id = %s"
            ((owner,),) = self.postgres.execute(statement, conversation, database=self.database)
            holds = [each for each in workers if f"-{each.process.pid}-" in owner]
            return holds[0] if holds else None

        found: Running = wait_until(held, 15)
        return found

    def let_command_end(self, conversation: str) -> None:
        """Let a command that contains ``UNTIL_ALLOWED`` go on."""
        workers = self._folder / "workers"
        runners.workspace_file(workers, UUID(conversation), ALLOWED).touch()

    def end(self) -> None:
        for installation in self._installations:
            installation.end()


@dataclass
class ApiClient:
    """A client of one web server, over the API and sockets."""

    web: Running
    token: str

    def on_server(self, web: Running) -> "ApiClient":
        """The same client on another web server."""
        return ApiClient(web, self.token)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def api(self, method: str, path: str, body: Any = None) -> Any:
        """Call the API; gives the JSON. Raises ``AssertionError`` if the status is not 2xx."""
        connection = http.client.HTTPConnection("127.0.0.1", self.web.port, timeout=20)
        try:
            sent = None if body is None else json.dumps(body)
            headers = {**self.headers, "Content-Type": "application/json"}
            connection.request(method, f"/api/v1{path}", sent, headers)
            got = connection.getresponse()
            text = got.read().decode()
        finally:
            connection.close()
        assert 200 <= got.status < 300, f"{method} {path}: {got.status} {text[:500]}"
        return json.loads(text) if text else None

    def ready(self) -> dict[str, Any]:
        return self.web.get("/readyz").json()

    @property
    def project(self) -> str:
        (project,) = self.api("GET", "/projects/")["results"]
        return f"/projects/{project['id']}"

    def agent(self, handle: str, model: ModelServer, dialect: str) -> "RemoteAgent":
        """Create an agent whose model is the scripted server, in this dialect."""
        roles = self.api("GET", f"{self.project}/roles/")["results"]
        (role,) = [role["id"] for role in roles if role["name"].lower() == "agent"]
        name, url = {
            "anthropic": (MODEL, model.base_url),
            "openai": ("openai/gpt-test", f"{model.base_url}/v1"),
        }[dialect]
        asked = {"model": name, "base_url": url, "llm_api_key": "sk-test-1234"}
        config = {"name": handle.title(), "handle": handle, "role_id": role, **asked}
        made = self.api("POST", f"{self.project}/agents/", config)
        return RemoteAgent(self, f"{self.project}/agents/{made['id']}")


@dataclass
class RemoteAgent:
    """An agent, seen over the API."""

    client: ApiClient
    path: str

    @property
    def id(self) -> str:
        return self.path.rpartition("/")[2]

    def start_conversation(self, text: str) -> "RemoteConversation":
        begun = self.client.api("POST", f"{self.path}/chat-sessions/", {"message": text})
        return RemoteConversation(self.client, begun["conversation"])


@dataclass
class RemoteConversation:
    """A conversation, seen over the API."""

    client: ApiClient
    id: str

    @property
    def path(self) -> str:
        return f"{self.client.project}/conversations/{self.id}"

    def on_server(self, web: Running) -> "RemoteConversation":
        return RemoteConversation(self.client.on_server(web), self.id)

    def page(self) -> Page:
        """Open a socket that follows the conversation."""
        address = f"ws://127.0.0.1:{self.client.web.port}/ws/conversations/{UUID(self.id)}/"
        return Page(address, self.client.headers)

    def send(self, text: str) -> None:
        self.client.api("POST", f"{self.path}/messages/", {"text": text})

    def stop(self) -> None:
        self.client.api("POST", f"{self.path}/stop/")

    @property
    def row(self) -> dict[str, Any]:
        return self.client.api("GET", f"{self.path}/")

    @property
    def frames(self) -> list[dict[str, Any]]:
        return self.client.api("GET", f"{self.path}/events/?limit=200")["results"]

    def event_data(self, kind: str) -> list[dict[str, Any]]:
        return [each["data"] for each in self.frames if each["type"] == f"agent.{kind}"]

    @property
    def answers(self) -> list[str]:
        return [fact["text"] for fact in self.event_data("message.spoken")]

    def has_event(self, kind: str) -> bool:
        return bool(self.event_data(kind))

    def wait_until_idle(self, seconds: float = 60) -> str:
        """Wait until the conversation is idle; gives ``status/reason``."""
        end = time.monotonic() + seconds
        while (row := self.row)["status"] not in IDLE_STATUSES:
            assert time.monotonic() < end, [each["type"] for each in self.frames]
            time.sleep(0.05)
        return f"{row['status']}/{row['reason']}"


def end(running: Running, number: signal.Signals = signal.SIGTERM, seconds: float = 30) -> int:
    """Send the process a signal; gives its exit code. Fails if it does not end in time."""
    running.process.send_signal(number)
    return running.process.wait(seconds)
