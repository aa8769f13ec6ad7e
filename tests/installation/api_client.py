"""An API client that starts conversations with the demo agent of an installation."""

import http.client
import json

from tests.installation.manage_process import Answer, Installation, Running

WORK = "Write a small program that finds prime numbers, and run it."
LOOK = "Look around the sandbox and tell me what is there."
OUTCOMES = ("agent.tool.returned", "agent.tool.outcome_unknown")


class ApiClient:
    """A client with a token that was created at the command line."""

    def __init__(self, installation: Installation, running: Running) -> None:
        self._running = running
        self.token = installation.run("create_token", "admin").stdout.split()[-1]
        project = self.get("/api/v1/projects/")["results"][0]["id"]
        self.project = f"/api/v1/projects/{project}/"
        self.agent = self.get(f"{self.project}agents/")["results"][0]["id"]

    def get(self, path: str) -> dict:
        return self._running.get(path, Authorization=f"Bearer {self.token}").json()

    def create_agent(self, name: str, *, model: str, **settings: str) -> str:
        """Make an agent; gives its id."""
        roles = self.get(f"{self.project}roles/")["results"]
        role = next(each["id"] for each in roles if each["name"] == "Agent")
        facts = {"name": name, "handle": name.lower(), "model": model, "role_id": role}
        made = self._post(f"{self.project}agents/", {**facts, **settings})
        assert made.status == 201, made.body
        return made.json()["id"]

    def set_approval(self, policy: str) -> None:
        """Change which calls of the demo agent wait for a person."""
        answer = self._send("PATCH", f"{self.project}agents/{self.agent}/", {"approval": policy})
        assert answer.status == 200, answer.body

    def begin(self, text: str) -> Answer:
        return self._post(f"{self.project}agents/{self.agent}/chat-sessions/", {"message": text})

    def write(self, conversation: str, text: str) -> None:
        address = f"{self.project}conversations/{conversation}/messages/"
        assert self._post(address, {"text": text}).status == 202

    def _post(self, address: str, body: dict) -> Answer:
        return self._send("POST", address, body)

    def _send(self, method: str, address: str, body: dict) -> Answer:
        line = http.client.HTTPConnection("127.0.0.1", self._running.port, timeout=30)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        line.request(method, address, json.dumps(body), headers)
        got = line.getresponse()
        answer = Answer(got.status, got.headers, got.read())
        line.close()
        return answer

    def conversations(self) -> list[dict]:
        return self.get(f"{self.project}conversations/")["results"]

    def outputs(self, conversation: str) -> list[str]:
        log = self.log(conversation)
        return [each["data"]["output"] for each in log if each["type"] == "agent.tool.returned"]

    def log(self, conversation: str) -> list[dict]:
        page = self._events(conversation)
        assert "results" in page, page
        return page["results"]

    def _events(self, conversation: str) -> dict:
        return self.get(f"{self.project}conversations/{conversation}/events/")

    def has(self, conversation: str, kind: str) -> bool:
        return any(each["type"] == f"agent.{kind}" for each in self.log(conversation))

    def is_finished(self, conversation: str) -> bool:
        """False also while the API answers an error: a database with a full disk may restart."""
        events = self._events(conversation).get("results")
        return bool(events) and events[-1]["type"] == "agent.conversation.finished"


def assert_is_whole(log: list[dict]) -> None:
    """Assert that ``seq`` has no gap and that each tool call has one outcome; there must be calls."""
    assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
    calls = [each["data"]["call_id"] for each in log if each["type"] == "agent.tool.called"]
    ended = [each["data"]["call_id"] for each in log if each["type"] in OUTCOMES]
    assert calls
    assert sorted(calls) == sorted(ended)
