"""The heavy libraries of models are loaded by the first model call, never by a page."""

import json

import pytest

from tests.installation.manage_process import Installation

NEVER_AT_REST = {"anthropic", "openai", "litellm", "mcp", "docker", "redis", "requests", "psycopg"}

BROWSE = """
import json, sys
import paca.asgi
from django.test import Client
from paca.accounts.models import User
from paca.agents.models import Agent

browser = Client()
browser.force_login(User.objects.get(), backend="django.contrib.auth.backends.ModelBackend")
agent = Agent.objects.get()
pages = ["/", "/admin/", f"/admin/agents/agent/{agent.pk}/change/", "/api/v1/projects/",
         f"/api/v1/projects/{agent.project_id}/agents/"]
answers = {page: browser.get(page, headers={"host": "localhost"}, follow=True).status_code for page in pages}
agent.model, agent.base_url = "openai/gpt-test", "http://127.0.0.1:9/v1"
agent.save()
tested = browser.post(f"/api/v1/projects/{agent.project_id}/agents/{agent.pk}/test-connection/",
                      headers={"host": "localhost"})
answers |= {"/api/v1/agents/llm-models/": browser.get("/api/v1/agents/llm-models/", headers={"host": "localhost"}).status_code}
assert "refused" in tested.json()["detail"], tested.content
print(json.dumps({"answers": answers, "modules": sorted(sys.modules)}))
"""


@pytest.mark.service
def test_web_process_has_loaded_no_model_library_after_its_start(
    stopped_installation: Installation,
):
    ended = stopped_installation.run("shell", "-v0", "-c", BROWSE)
    assert ended.returncode == 0, ended.stderr
    seen = json.loads(ended.stdout.splitlines()[-1])
    assert set(seen["answers"].values()) == {200}, seen["answers"]
    assert "paca.realtime.consumers" in seen["modules"]
    assert not NEVER_AT_REST & set(seen["modules"])
