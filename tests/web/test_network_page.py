"""The page with the hosts of a conversation, and the settings that decide which they are."""

from html import unescape

from django.test import Client

from paca.conversations import network_use, services
from paca.projects.services import projects
from paca.sandbox.egress.booking import Booked
from paca.sandbox.egress.reasons import Reason
from tests.support.world import World


def body(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def test_page_shows_reached_and_refused_hosts(ada: Client, harbor: World) -> None:
    receipt = services.start_chat(harbor.agent, text="hello", by=harbor.owner)
    address = f"/projects/{harbor.project.pk}/conversations/{receipt.conversation_id}/network/"
    text = body(ada, address)
    assert "No connections yet" in text
    assert "Rosa has no network now" in text
    lines = [
        Booked(100.0, "a.example", 443),
        Booked(101.0, "a.example", 443, received=2048, begins=False),
        Booked(102.0, "evil.example", 443, Reason.NOT_LISTED),
    ]
    network_use.record(receipt.conversation_id, "book", lines, begin=0, end=9)
    projects.change(
        harbor.project, by=harbor.owner, network="restricted", network_hosts=["a.example"]
    )
    text = body(ada, address)
    assert "Rosa reaches 1 host now" in text
    assert "2.0\xa0KB received" in text
    assert "evil.example is not on the list of hosts of this project" in text


def test_settings_show_the_network_of_project_and_agent(ada: Client, harbor: World) -> None:
    settings, agent = "settings/", f"agents/{harbor.agent.pk}/settings/"
    assert "the project allows none" in body(ada, f"/projects/{harbor.project.pk}/{agent}")
    projects.change(
        harbor.project,
        by=harbor.owner,
        network="restricted",
        network_presets=["python"],
        network_hosts=["a.example", "b.example"],
    )
    text = body(ada, f"/projects/{harbor.project.pk}/{settings}")
    assert 'value="python" checked' in text
    assert 'value="npm" checked' not in text
    assert "a.example\nb.example</textarea>" in text
    assert "It reaches 4 hosts of the project" in body(
        ada, f"/projects/{harbor.project.pk}/{agent}"
    )
