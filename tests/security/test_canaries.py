"""Twelve canary secrets in every encoding: no outlet shows one, and without the mask each outlet would."""

from __future__ import annotations

import base64
import html
import json
import logging
import shlex
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from django.apps import apps
from django.test import Client
from django.utils import timezone

from paca.accounts.models import User
from paca.accounts.services import people, tokens
from paca.agents import encryption
from paca.agents import services as agents
from paca.agents.models import McpGrant, McpServer
from paca.agents.services import mcp_servers, model_keys, variables
from paca.bus import get_bus
from paca.common import logs, secret_removal
from paca.common.secret_removal import SecretMask
from paca.conversations.models import Conversation
from paca.projects.services import tasks
from paca.worker import assembly, event_masking
from tests.conversations.chat import download
from tests.flows.test_fallback import give_fallback
from tests.support.flow import Flow, ObservedConversation, wait_until
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
VISIBLE = "visible-control"  # stands beside each canary, and must be seen in each outlet
NUMBER = 7**30


def new_canary(kind: int, *, special: str = '"é+/ä') -> str:
    """A secret with a middle of 24 characters that is seen in no other place."""
    middle = f"{(kind + 3) * NUMBER:x}"[:24].replace("e", "x")
    return f"canary{kind:02}{special}{middle}{special}end"


def encodings_of(secret: str) -> dict[str, str]:
    return {
        "exact": secret,
        "base64": base64.b64encode(secret.encode()).decode(),
        "URL": quote(secret, safe=""),
        "hex": secret.encode().hex(),
        "JSON": json.dumps(secret),
    }


@dataclass
class Canaries:
    """The canaries by kind, and how a text is searched for them."""

    by_kind: dict[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> str:
        return "\n".join(
            f"{VISIBLE} {kind} {name} {encoded}"
            for kind, secret in self.by_kind.items()
            for name, encoded in encodings_of(secret).items()
        )

    def seen_in(self, text: str) -> set[tuple[str, str]]:
        """The canaries in a text, each with its encoding; however the text escapes it."""
        plain = text.replace("\\n", "").replace("\n", "")
        variants = {plain, plain.replace("\\", ""), html.unescape(plain), unquote(plain)}
        found = set()
        for kind, secret in self.by_kind.items():
            middle = secret[len(secret) // 2 - 10 : len(secret) // 2 + 10]
            raw = middle.encode()
            inner = (base64.b64encode(b"?" * n + raw).decode()[n + 2 : -4] for n in range(3))
            needles = {"plain": [middle], "hex": [raw.hex(), raw.hex().upper()], "base64": inner}
            for name, forms in needles.items():
                if any(form in variant for form in forms for variant in variants):
                    found.add((kind, name))
        return found


def plant(flow: Flow, settings: Any) -> Canaries:
    """Store a canary of each kind where an installation keeps it."""
    world, given = flow.world, Canaries()

    def canary(kind: str, **facts: Any) -> str:
        given.by_kind[kind] = new_canary(len(given.by_kind), **facts)
        return given.by_kind[kind]

    agents.configure(world.agent, by=world.owner, llm_api_key=canary("model key", special="-+/"))
    give_fallback(flow, fallback_api_key=canary("fallback key", special="-+/"))
    model_keys.store(
        provider="mistral", base_url="", key=canary("project key", special="-+/"),
        project=world.project, by=world.owner,
    )  # fmt: skip
    local = mcp_servers.create(
        world.agent, name="local", transport="stdio", command="none", by=world.owner,
        env={"TOKEN": canary("MCP variable")},
    )  # fmt: skip
    remote = mcp_servers.create(
        world.agent, name="remote", transport="http", url="https://mcp.example/mcp",
        headers={"Authorization": f"Bearer {canary('MCP header', special='-+/')}"}, by=world.owner,
    )  # fmt: skip
    for server in (local, remote):  # they are only asked for their secrets
        McpServer.objects.filter(pk=server.pk).update(enabled=False)
    McpGrant.objects.create(
        server=remote,
        granted_at=timezone.now(),
        encrypted_access_token=encryption.encrypt(canary("MCP token")),
    )
    for name, owner in (("PROJECT_TOKEN", world.project), ("AGENT_TOKEN", world.agent)):
        variables.store(owner, name=name, value=canary(name), by=world.owner)
    settings.METRICS_TOKEN = canary("metrics token", special="-+/")
    given.by_kind["API token"] = tokens.create(world.user, name="a", by=world.user)[1]
    link = people.create_one_time_link(world.user)
    given.by_kind["sign-in link"] = f"https://paca.example/link/{link}/"
    of_room = canary("git credential")
    secret_removal.add_source("canaries", lambda scope: [of_room])
    return given


def read_database() -> Iterator[tuple[str, str]]:
    """Each table as one text. What is packed is unpacked; what is encrypted stays so."""
    for model in apps.get_models():
        rows = [
            f"{name}={_text(value)}"
            for row in model._default_manager.values()
            for name, value in row.items()
        ]
        yield f"table {model._meta.label}", "\n".join(rows)


def _text(value: Any) -> str:
    if not isinstance(value, bytes | memoryview):
        return str(value)
    try:
        return zlib.decompress(bytes(value)).decode("utf-8", "replace")
    except zlib.error:
        return ""


class Lines(logging.Handler):
    """The log as an operator reads it, in both forms."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += logs.JsonFormatter().format(record) + logs.LineFormatter().format(record)


@dataclass
class Outlets:
    """All that people, programs and the provider of the model get to see, by the name of the outlet."""

    flow: Flow
    task: Any
    bus: list[str] = field(default_factory=list)
    log: Lines = field(default_factory=Lines)

    def read(self, conversation: ObservedConversation, token: str) -> dict[str, str]:
        found = dict(read_database())
        found |= {f"REST {path}": self._get(f"/api/v1{path}") for path in self._api(conversation)}
        found |= {f"page {path}": self._get(path) for path in self._pages(conversation)}
        found |= {f"admin {path}": self._get(path) for path in self._admin(conversation)}
        given = {"Authorization": f"Bearer {token}"}
        found["metrics"] = Client().get("/metrics", headers=given).content.decode()
        found["prompts"] = "\n".join(each.raw.decode() for each in self.flow.model.requests)
        found["bus, sockets and streams"] = "\n".join(self.bus)
        found["sockets after a reload"] = json.dumps(conversation.frames, ensure_ascii=False)
        found["log"] = self.log.text
        return found

    def _get(self, path: str) -> str:
        client = Client()
        client.force_login(
            User.objects.get(is_superuser=True) if "/admin/" in path else self.flow.world.user
        )
        answer = client.get(path)
        assert answer.status_code == 200, path
        return download(answer).decode("utf-8", "replace")

    def _api(self, conversation: ObservedConversation) -> list[str]:
        project = f"/projects/{self.flow.world.project.pk}"
        own = f"{project}/conversations/{conversation.id}"
        ends = (
            "",
            "events/",
            "export/?format=markdown",
            "export/?format=json",
            "trace/",
            "trace/export/",
            "network/",
            "background/",
        )
        returned = conversation.event_data("tool.returned")
        full = [each["call_id"] for each in returned if each["full_output_bytes"]]
        assert full, returned
        return [
            *(f"{own}/{end}" for end in ends),
            f"{own}/calls/{full[0]}/output/",
            f"{project}/conversations/",
            f"{project}/tasks/{self.task.number}/comments/",
            f"{project}/memory/",
            f"{project}/search/?q=visible",
            "/notifications/",
            f"{project}/agents/{self.flow.world.agent.pk}/",
            f"{project}/agents/{self.flow.world.agent.pk}/mcp-servers/",
        ]

    def _pages(self, conversation: ObservedConversation) -> list[str]:
        project = f"/projects/{self.flow.world.project.pk}"
        return [
            f"{project}/",
            f"{project}/inbox/",
            f"{project}/board/",
            f"{project}/tasks/{self.task.number}/",
            f"{project}/conversations/",
            f"{project}/conversations/{conversation.id}/",
            f"{project}/memory/",
        ]

    def _admin(self, conversation: ObservedConversation) -> list[str]:
        return [
            "/admin/conversations/conversation/",
            f"/admin/conversations/conversation/{conversation.id}/change/",
            "/admin/conversations/toolcall/",
            "/admin/agents/agent/",
            f"/admin/agents/agent/{self.flow.world.agent.pk}/change/",
            "/admin/accounts/auditentry/",
        ]


def printing(lines: str, times: int) -> str:
    """A command that prints the lines without saying them: no mask knows a text that is written backwards."""
    program = f"import sys; print((sys.argv[1][::-1] + chr(10)) * {times})"
    return f"python3 -c {shlex.quote(program)} {shlex.quote(lines[::-1])}"


@pytest.fixture
def flow(transactional_db: None, tmp_path: Path, settings: Any) -> Iterator[Flow]:
    settings.TITLE_MODEL = ""
    with Flow(tmp_path, llm_api_key="sk-before-the-canary", tracing=True) as found:
        yield found
    secret_removal._sources.pop("canaries", None)


def work(flow: Flow, canaries: Canaries, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A conversation in which commands and the model say all canaries, and what each outlet shows of it."""
    world, lines = flow.world, canaries.lines
    User.objects.create_superuser("root", password="a long password 7")
    task = tasks.create(world.project, title="Work", by=world.owner)
    outlets, bus = Outlets(flow, task), get_bus()
    for name in ("live", "announce"):
        sent = getattr(bus, name)

        def record(*given: Any, sent: Any = sent, **more: Any) -> Any:
            outlets.bus.append(repr(given))
            return sent(*given, **more)

        monkeypatch.setattr(bus, name, record)
    logger = logging.getLogger("paca")
    logger.addHandler(outlets.log)
    comment = {"task": task.key, "text": f"@{world.user.username} {lines}"}
    replies = iter(
        [
            calls(bash=[printing(lines, 1), printing(lines, 40)]),
            says(lines) + calls(bash=f"cat <<'X'\n{lines}\nX", add_comment=comment),
            calls(
                remember={"text": lines[:280]}, write_file={"path": "leak.txt", "content": lines}
            ),
            calls(read_file="leak.txt", background_run=f"{printing(lines, 1)}; sleep 60"),
            says(f"Done.\n{lines}"),
        ]
    )
    title = f"{VISIBLE} {canaries.by_kind['model key']}"
    flow.model.script(
        lambda body: says(title) if "Write the title now" in str(body) else next(replies)
    )
    try:
        conversation = flow.ask("Look around.")
        logging.getLogger("paca.canaries").error("It failed: %s", lines, extra={"field": lines})
        wait_until(lambda: Conversation.objects.filter(title__startswith=VISIBLE).exists())
        return outlets.read(conversation, canaries.by_kind["metrics token"])
    finally:
        logger.removeHandler(outlets.log)


# Each of these shows texts of the conversation.
SHOWING = {
    *("log", "prompts", "bus, sockets and streams", "sockets after a reload"),
    *("table conversations.Event", "table projects.Comment"),
    *("events/", "format=markdown", "format=json", "trace/export/", "/output/"),
    *("/comments/", "change/"),
}


def outlets_of(found: dict[str, str], ending: str) -> list[str]:
    outlets = [outlet for outlet in found if outlet.endswith(ending)]
    assert outlets, ending
    return outlets


def test_no_outlet_shows_a_canary_in_any_encoding(
    flow: Flow, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    canaries = plant(flow, settings)
    assert len(canaries.by_kind) == 12
    # The middle of a secret is the same as it is, in a URL and in JSON.
    assert len(canaries.seen_in(canaries.lines)) == 12 * 3
    found = work(flow, canaries, monkeypatch)
    seen = {outlet: leaked for outlet, text in found.items() if (leaked := canaries.seen_in(text))}
    assert seen == {}
    silent = {
        each for each in SHOWING if not any(VISIBLE in found[o] for o in outlets_of(found, each))
    }
    assert silent == set()


def test_without_the_mask_each_outlet_shows_canaries(
    flow: Flow, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: what the test above does not see would be there to be seen."""
    canaries = plant(flow, settings)
    for module in (assembly, event_masking):
        monkeypatch.setattr(module, "mask_of_agent", lambda _: SecretMask())
    monkeypatch.setattr(secret_removal._in_logs, "text", lambda text: text)
    found = work(flow, canaries, monkeypatch)
    blind = {
        each
        for each in SHOWING
        if not any(canaries.seen_in(found[o]) for o in outlets_of(found, each))
    }
    assert blind == set()
    assert len(canaries.seen_in(found["table conversations.Event"])) == 12 * 3
