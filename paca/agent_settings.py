"""Limits of what agents do, which ``settings.py`` takes over."""

from paca import env
from paca.common import time_zones

__all__ = [
    "AGENT_CALLS_PER_HOUR",
    "AGENT_CALLS_IN_PROJECT_PER_HOUR",
    "AGENT_MAX_HOPS",
    "AGENT_MAX_STEPS",
    "COMPACTION_MODEL",
    "CONTEXT_COMPACT_AT",
    "DEFAULT_TIME_ZONE",
    "MEMORY_CHARACTERS",
    "TEAM_ANSWER_SECONDS",
    "TEAM_IDLE_SECONDS",
    "TITLE_MODEL",
]

AGENT_MAX_STEPS = env.integer(
    "AGENT_MAX_STEPS",
    50,
    at_least=1,
    meaning="Model calls in one turn, unless the agent has its own limit.",
)
AGENT_MAX_HOPS = env.integer(
    "AGENT_MAX_HOPS",
    3,
    at_least=0,
    meaning="Agents that may call one another in a row by assignments and mentions, before a person has "
    "to act. With 0 agents cannot call agents.",
)
AGENT_CALLS_PER_HOUR = env.integer(
    "AGENT_CALLS_PER_HOUR",
    20,
    at_least=1,
    meaning="Times an hour that agents may call agents on one task or doc.",
)
AGENT_CALLS_IN_PROJECT_PER_HOUR = env.integer(
    "AGENT_CALLS_IN_PROJECT_PER_HOUR",
    100,
    at_least=1,
    meaning="Times an hour that agents may call agents in one project, on whichever tasks and docs: agents "
    "make tasks themselves.",
)
CONTEXT_COMPACT_AT = env.number(
    "CONTEXT_COMPACT_AT",
    0.7,
    at_least=0.1,
    at_most=0.95,
    meaning="The part of a model's window from which a conversation is shortened: old tool results are left out, "
    "or a summary takes the place of what came before.",
)
COMPACTION_MODEL = env.text(
    "COMPACTION_MODEL",
    "",
    meaning="The model that writes summaries, such as a smaller one, as `provider/model`. It is asked with the key of "
    "each agent whose model is of that provider and has no base URL. Other agents, and those with the parameter "
    "`compaction_model`, are not affected. Empty: each agent's own model.",
)
TEAM_IDLE_SECONDS = env.seconds(
    "TEAM_IDLE_SECONDS", 60, meaning="A teammate without work ends after this time."
)
TEAM_ANSWER_SECONDS = env.seconds(
    "TEAM_ANSWER_SECONDS",
    300,
    at_least=1,
    meaning="Time in which a teammate answers a request to end, and in which the lead of a team reviews a plan.",
)
TITLE_MODEL = env.text(
    "TITLE_MODEL",
    "",
    meaning="The model that writes the titles of chats after their first answer, such as a small one, as "
    "`provider/model`; or `off`, and the first words of a chat are its title. It is asked with the key of each agent "
    "whose model is of that provider and has no base URL. Other agents use their own model; the parameter "
    "`title_model` of an agent comes first. Empty: each agent's own model.",
)
DEFAULT_TIME_ZONE = time_zones.configured(
    env.text(
        "DEFAULT_TIME_ZONE",
        "UTC",
        meaning="Hours of check-ins are meant in it, such as Europe/Berlin, where neither the check-in nor its project "
        "names a time zone.",
    ),
    variable="DEFAULT_TIME_ZONE",
)
MEMORY_CHARACTERS = env.integer(
    "MEMORY_CHARACTERS",
    4000,
    at_least=1000,
    at_most=100_000,
    meaning="The size of the memory of an agent, and of that of a project. About a quarter of it are tokens of each "
    "request. When it is full, the oldest entries that are not pinned go first.",
)
