"""Validates the settings of an agent, with an error message for each field."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from paca.agents import model_parameters, persona_catalogue, sandbox_limits, toolbox
from paca.agents.models import Agent, Persona
from paca.common import validation
from paca.common.errors import Invalid
from paca.engine import titles
from paca.engine.llm import registry
from paca.engine.llm.credentials import Credentials
from paca.engine.llm.model_errors import ModelMisconfigured
from paca.engine.tools.schema import short_json
from paca.projects.models import Member
from paca.projects.services import images

Errors = dict[str, list[str]]
# The JSON key of a service account of Google has about 2,400.
MAX_KEY_CHARACTERS = 8000


@dataclass(frozen=True, slots=True)
class _Connection:
    """A model of an agent with the server and the key that it is reached by."""

    model: str
    base_url: str
    encrypted_key: str

    @property
    def destination(self) -> tuple[str, str]:
        """The provider and the server that receive the key."""
        return destination_of(self.model, self.base_url)


def _own(agent: Agent) -> _Connection:
    return _Connection(agent.model, agent.base_url, agent.encrypted_key)


def _fallback(agent: Agent) -> _Connection:
    return _Connection(agent.fallback_model, agent.fallback_base_url, agent.fallback_encrypted_key)


def find_errors(
    agent: Agent, *, new_key: str | None = None, new_fallback_key: str | None = None
) -> Errors:
    """The errors by field. A new key is about to be stored; None if none is."""
    errors: Errors = {}
    if (found := model_parameters.find_errors(agent.parameters)) or (
        found := [
            each for name in model_parameters.MODELS if (each := _check_other_model(agent, name))
        ]
    ):
        errors["parameters"] = found
    if (found := model_parameters.find_errors_of_efforts(agent.efforts)) or (
        found := _check_models_of_efforts(agent)
    ):
        errors["efforts"] = found
    for field, error in (
        ("tools", _check_tools(agent)),
        ("model", check_model(agent.model, agent.base_url)),
        ("handle", _check_handle(agent)),
        ("persona", _check_persona(agent)),
        ("sandbox_image", _check_image(agent)),
        ("llm_api_key", _check_key(agent, _own, new_key)),
    ):
        if error:
            errors[field] = [error]
    errors |= _find_errors_of_fallback(agent, new_fallback_key) | sandbox_limits.find_errors(agent)
    try:
        validation.check(agent)
    except Invalid as invalid:
        errors.update(invalid.fields)
    errors.pop("own_persona", None)  # told as that of ``persona``
    return errors


def _find_errors_of_fallback(agent: Agent, new_key: str | None) -> Errors:
    """The errors of the fallback, or of what is set without one."""
    if not agent.fallback_model:
        given = agent.fallback_base_url or agent.fallback_parameters or new_key
        return {"fallback_model": ["Name the model of the fallback."]} if given else {}
    errors: Errors = {}
    if error := _check_fallback_model(agent):
        errors["fallback_model"] = [error]
    if found := model_parameters.find_errors(
        agent.fallback_parameters, without=model_parameters.MODELS
    ):
        errors["fallback_parameters"] = found
    if error := _check_key(agent, _fallback, new_key):
        errors["fallback_api_key"] = [error]
    return errors


def _check_fallback_model(agent: Agent) -> str:
    if agent.fallback_model.startswith("demo/") or agent.model.startswith("demo/"):
        return "The demo has no fallback and is none: it needs no server."
    same = (agent.fallback_model, agent.fallback_base_url) == (agent.model, agent.base_url)
    if same:
        return "This is the agent's own model at the same address. Choose another one."
    return check_model(agent.fallback_model, agent.fallback_base_url)


def check_model(model: str, base_url: str) -> str:
    """An error if no adapter supports the model's name; empty if one does. Asks nothing over the network."""
    try:
        registry.open_llm(model, base_url=base_url, api_key="any")
    except ModelMisconfigured as error:
        return error.detail
    return ""


def _check_other_model(agent: Agent, name: str) -> str:
    """An error if no adapter supports the model of this parameter, or another provider would get the agent's key."""
    chosen = agent.parameters.get(name)
    if chosen == titles.OFF:
        return ""
    provider = agent.model.partition("/")[0]
    # guard: compaction-model-gets-no-key-of-another-provider
    if chosen is None or chosen.partition("/")[0] == provider:
        return check_model(chosen, agent.base_url) if chosen else ""
    return f"{name} must be a model of {provider}, like the agent's own, whose key it uses."


def _check_models_of_efforts(agent: Agent) -> list[str]:
    """The errors of models that an effort names: they get the agent's key, so they are of its provider."""
    provider, errors = agent.model.partition("/")[0], []
    for effort, changes in agent.efforts.items():
        chosen = changes.get(model_parameters.MODEL)
        # guard: effort-gets-no-key-of-another-provider
        if chosen is not None and chosen.partition("/")[0] != provider:
            errors.append(
                f"{effort}: model must be a model of {provider}, like the agent's own, whose key it uses."
            )
        elif chosen is not None and (error := check_model(chosen, agent.base_url)):
            errors.append(f"{effort}: {error}")
    return errors


def _check_tools(agent: Agent) -> str:
    chosen: Any = agent.tools
    if chosen is None:
        return ""
    known = ", ".join(toolbox.tool_names())
    if not isinstance(chosen, list) or not all(isinstance(name, str) for name in chosen):
        return f"Give a list of names, or null for all. The tools are: {known}."
    unknown = [name for name in chosen if name not in toolbox.tool_names()]
    # A tool of a package that is no longer installed, or broken, must not block every other change.
    # guard: custom-tools-gone-block-no-setting
    if unknown:
        stored = Agent.objects.filter(pk=agent.pk).values_list("tools", flat=True).first() or ()
        unknown = [name for name in unknown if name not in stored]
    if unknown:
        return f"There is no tool {short_json(unknown[0])}. The tools are: {known}."
    return ""


def _check_persona(agent: Agent) -> str:
    own = agent.own_persona_id
    # guard: persona-of-the-project
    if own is not None:
        is_there = Persona.objects.filter(pk=own, project=agent.project_id).exists()
    else:
        slug = agent.predefined_persona
        is_there = not slug or persona_catalogue.find(slug) is not None
    return "" if is_there else "There is no such persona in this project."


def _check_image(agent: Agent) -> str:
    if images.is_allowed(agent.sandbox_image):
        return ""
    stored = Agent.objects.filter(pk=agent.pk).values_list("sandbox_image", flat=True).first()
    # An image that the operator took off the list blocks no other setting.
    return "" if stored == agent.sandbox_image else images.not_allowed()


def _check_handle(agent: Agent) -> str:
    people = Member.objects.live().filter(project_id=agent.project_id)
    if people.filter(user__username__iexact=agent.handle).exists():
        return "A person of this project has this username."
    return ""


def _check_key(
    agent: Agent, connection_of: Callable[[Agent], _Connection], new_key: str | None
) -> str:
    """An error if the stored key would be sent to another server than the one it was given for.

    Otherwise anybody who may change the base URL could have the key sent to a server of their own.
    """
    if new_key is not None:
        return check_form_of_key(new_key)
    row = Agent.objects.filter(pk=agent.pk).first()
    stored, new = connection_of(row) if row else None, connection_of(agent)
    if stored is None or not stored.encrypted_key or stored.destination == new.destination:
        return ""
    server = urlsplit(stored.base_url).netloc or stored.destination[0]
    text = f"Type the key again: the stored one was given for {server} and is not sent elsewhere."
    if registry.is_own_server(new.model, new.base_url):
        text += " If the new server needs no key, switch Delete the stored key on; by the API, send an empty key."
    return text


def check_form_of_key(key: str) -> str:
    """An error if the text cannot be a key; empty if it can."""
    if key.startswith("{"):
        try:
            Credentials.parse("this model", key)
        except ModelMisconfigured as error:
            return error.detail
        return ""
    if not (key.isascii() and key.isprintable()) or " " in key:
        return "A key has no spaces and only plain characters."
    return ""


def destination_of(model: str, base_url: str) -> tuple[str, str]:
    """The provider and the server that receive the key of this model."""
    url = urlsplit(base_url)
    return model.partition("/")[0], f"{url.scheme}://{url.netloc}"
