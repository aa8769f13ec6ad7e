"""What is wrong with an agent's settings, in sentences, before the database would refuse them."""

from urllib.parse import urlsplit

from paca.agents import model_parameters
from paca.agents.models import Agent
from paca.common import validation
from paca.common.errors import Invalid
from paca.engine.llm import registry
from paca.engine.llm.base import ModelMisconfigured
from paca.projects.models import Member

Complaints = dict[str, list[str]]


def complaints(agent: Agent, *, new_key: str | None = None) -> Complaints:
    """All complaints, by field; ``new_key`` is the key that is about to be stored, if one is."""
    found: Complaints = {}
    if wrong := model_parameters.complaints(agent.parameters):
        found["parameters"] = wrong
    for field, complaint in (
        ("model", _about_model(agent)),
        ("handle", _about_handle(agent)),
        ("llm_api_key", _about_key(agent, new_key)),
    ):
        if complaint:
            found[field] = [complaint]
    try:
        validation.check(agent)
    except Invalid as invalid:
        found.update(invalid.fields)
    return found


def _about_model(agent: Agent) -> str:
    """Whether some adapter answers to the model's name; nothing is asked over the network."""
    try:
        registry.open_llm(agent.model, base_url=agent.base_url, api_key="any")
    except ModelMisconfigured as error:
        return error.detail
    return ""


def _about_handle(agent: Agent) -> str:
    people = Member.objects.live().filter(project_id=agent.project_id)
    if people.filter(user__username__iexact=agent.handle).exists():
        return "A person of this project has this username."
    return ""


def _about_key(agent: Agent, new_key: str | None) -> str:
    """A key is bound to whom it was given for: else who may set the address could have it sent
    to a server of their own."""
    if new_key is not None:
        if not (new_key.isascii() and new_key.isprintable()) or " " in new_key:
            return "A key has no spaces and only plain characters."
        return ""
    stored = Agent.objects.filter(pk=agent.pk).exclude(encrypted_key="").first()
    if stored is None or _destination(stored) == _destination(agent):
        return ""
    place = urlsplit(stored.base_url).netloc or _destination(stored)[0]
    return f"Type the key again: the stored one was given for {place} and is not sent elsewhere."


def _destination(agent: Agent) -> tuple[str, str]:
    url = urlsplit(agent.base_url)
    return agent.model.partition("/")[0], f"{url.scheme}://{url.netloc}"
