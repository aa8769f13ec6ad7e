"""Every setting of an agent has an effect: the code that runs agents reads it."""

import re
from pathlib import Path

import pytest

import paca
from paca.agents import model_parameters, services
from paca.agents.models import Agent
from paca.engine.llm import own_parameters
from paca.engine.llm.anthropic import encoder as anthropic_encoder
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.openai import parameters as openai_parameters
from paca.worker import model_profiles

ROOT = Path(paca.__file__).parent
# Pages and the API show these settings; conversations do not use them.
SHOWN_ONLY = {"handle", "agent_type", "category", "tags"}


def source(*folders: str) -> str:
    files = (file for folder in folders for file in sorted((ROOT / folder).rglob("*.py")))
    return "\n".join(file.read_text() for file in files if "migrations" not in file.parts)


@pytest.mark.parametrize("setting", sorted(services.SETTINGS - SHOWN_ONLY))
def test_setting_of_an_agent_is_read_by_the_code_that_runs_it(setting: str) -> None:
    read = re.compile(rf"\bagent(?:\.|__){setting}(?:\b|__)|\"{setting}\"")
    assert read.search(source("worker", "conversations"))


@pytest.mark.parametrize("name", model_parameters.SENT_NAMES)
def test_model_parameter_is_sent_by_every_adapter(name: str) -> None:
    value = "high" if name == "effort" else 2048
    without = anthropic_encoder._parameters({}, 8192)
    assert anthropic_encoder._parameters({name: value}, 8192) != without
    for provider, own_address in (("openai", True), ("gemini", False)):
        how = {"provider": provider, "max_tokens_name": "max_tokens", "own_address": own_address}
        sent = openai_parameters.encode({name: value}, 8192, **how)
        assert sent != openai_parameters.encode({}, 8192, **how)


@pytest.mark.parametrize(
    ("own", "of_all", "base_url", "used"),
    [
        ("", "", "", ""),
        ("openai/mini", "openai/small", "", "openai/mini"),
        ("", "openai/small", "", "openai/small"),
        ("", "anthropic/small", "", ""),  # the agent's key is for another provider
        ("anthropic/small", "", "", ""),
        ("", "openai/small", "https://llm.example/v1", ""),
        ("openai/mini", "", "https://llm.example/v1", "openai/mini"),
        ("openai/large", "", "", ""),
    ],
)
def test_model_for_summaries_is_one_that_may_get_the_key_of_the_agent(
    own: str, of_all: str, base_url: str, used: str, settings
) -> None:
    settings.COMPACTION_MODEL = of_all
    parameters = {own_parameters.COMPACTION_MODEL: own} if own else {}
    agent = Agent(model="openai/large", base_url=base_url, parameters=parameters)
    assert model_profiles.compaction_model(agent, agent.model) == used
    assert own_parameters.without(parameters) == {}


@pytest.mark.parametrize(
    ("own", "of_all", "base_url", "used"),
    [
        ("", "", "", "openai/large"),
        ("off", "openai/small", "", ""),
        ("", "off", "https://llm.example/v1", ""),
        ("openai/mini", "off", "", "openai/mini"),
        ("", "openai/small", "", "openai/small"),
        ("", "anthropic/small", "", "openai/large"),  # the agent's key is for another provider
        ("anthropic/small", "", "", "openai/large"),
        ("", "openai/small", "https://llm.example/v1", "openai/large"),
        ("openai/mini", "", "https://llm.example/v1", "openai/mini"),
    ],
)
def test_model_for_titles_is_one_that_may_get_the_key_of_the_agent(
    own: str, of_all: str, base_url: str, used: str, settings
) -> None:
    settings.TITLE_MODEL = of_all
    parameters = {own_parameters.TITLE_MODEL: own} if own else {}
    agent = Agent(model="openai/large", base_url=base_url, parameters=parameters)
    assert model_profiles.title_model(agent) == used
    assert model_profiles.title_model(Agent(model="demo/guide")) == ""
    assert own_parameters.without(parameters) == {}


@pytest.mark.parametrize("name", model_parameters.OWN_NUMBERS)
def test_parameter_of_paca_is_kept_from_the_model_and_has_an_effect(name: str) -> None:
    assert name in own_parameters.NAMES
    assert own_parameters.without({name: 5000}) == {}
    default = TimeLimits(total=4000)
    if name != own_parameters.CONTEXT_WINDOW:
        assert own_parameters.time_limits({name: 5000}, default) != default
