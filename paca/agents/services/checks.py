"""Validates the settings of an agent, with an error message for each field."""

from typing import Any
from urllib.parse import urlsplit

from paca.agents import model_parameters, toolbox
from paca.agents.models import Agent
from paca.common import validation
from paca.common.errors import Invalid
from paca.engine.llm import registry
from paca.engine.llm.credentials import Credentials
from paca.engine.llm.model_errors import ModelMisconfigured
from paca.engine.tools.schema import short_json
from paca.projects.models import Member

Errors = dict[str, list[str]]
# The JSON key of a service account of Google has about 2,400.
MAX_KEY_CHARACTERS = 8000


def find_errors(agent: Agent, *, new_key: str | None = None) -> Errors:
    """The errors by field. ``new_key`` is the key that is about to be stored; None if none is."""
    errors: Errors = {}
    if found := model_parameters.find_errors(agent.parameters):
        errors["parameters"] = found
    elif error := _check_compaction_model(agent):
        errors["parameters"] = [error]
    for field, error in (
        ("tools", _check_tools(agent.tools)),
        ("model", _check_model(agent.model, agent.base_url)),
        ("handle", _check_handle(agent)),
        ("llm_api_key", _check_key(agent, new_key)),
    ):
        if error:
            errors[field] = [error]
    try:
        validation.check(agent)
    except Invalid as invalid:
        errors.update(invalid.fields)
    return errors


def _check_model(model: str, base_url: str) -> str:
    """An error if no adapter supports the model's name. Asks nothing over the network."""
    try:
        registry.open_llm(model, base_url=base_url, api_key="any")
    except ModelMisconfigured as error:
        return error.detail
    return ""


def _check_compaction_model(agent: Agent) -> str:
    """An error if no adapter supports the model for summaries, or another provider would get the agent's key."""
    chosen = agent.parameters.get(model_parameters.COMPACTION_MODEL)
    provider = agent.model.partition("/")[0]
    # guard: compaction-model-gets-no-key-of-another-provider
    if chosen is None or chosen.partition("/")[0] == provider:
        return _check_model(chosen, agent.base_url) if chosen else ""
    return (
        f"compaction_model must be a model of {provider}, like the agent's own, whose key it uses."
    )


def _check_tools(chosen: Any) -> str:
    if chosen is None:
        return ""
    known = ", ".join(toolbox.tool_names())
    if not isinstance(chosen, list) or not all(isinstance(name, str) for name in chosen):
        return f"Give a list of names, or null for all. The tools are: {known}."
    unknown = [name for name in chosen if name not in toolbox.tool_names()]
    if unknown:
        return f"There is no tool {short_json(unknown[0])}. The tools are: {known}."
    return ""


def _check_handle(agent: Agent) -> str:
    people = Member.objects.live().filter(project_id=agent.project_id)
    if people.filter(user__username__iexact=agent.handle).exists():
        return "A person of this project has this username."
    return ""


def _check_key(agent: Agent, new_key: str | None) -> str:
    """An error if the stored key would be sent to another server than the one it was given for.

    Otherwise anybody who may change the base URL could have the key sent to a server of their own.
    """
    if new_key is not None:
        return _check_form_of_key(new_key)
    stored = Agent.objects.filter(pk=agent.pk).exclude(encrypted_key="").first()
    if stored is None or _destination(stored) == _destination(agent):
        return ""
    server = urlsplit(stored.base_url).netloc or _destination(stored)[0]
    text = f"Type the key again: the stored one was given for {server} and is not sent elsewhere."
    if registry.is_own_server(agent.model, agent.base_url):
        text += " If the new server needs no key, switch Delete the stored key on; by the API, send an empty key."
    return text


def _check_form_of_key(key: str) -> str:
    if key.startswith("{"):
        try:
            Credentials.parse("this model", key)
        except ModelMisconfigured as error:
            return error.detail
        return ""
    if not (key.isascii() and key.isprintable()) or " " in key:
        return "A key has no spaces and only plain characters."
    return ""


def _destination(agent: Agent) -> tuple[str, str]:
    """The provider and the server that receive the key."""
    url = urlsplit(agent.base_url)
    return agent.model.partition("/")[0], f"{url.scheme}://{url.netloc}"
