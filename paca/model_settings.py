"""The settings of model calls, which ``settings.py`` takes over. Each has its unit in its name."""

from paca import env

__all__ = [
    "LLM_CONNECT_SECONDS",
    "LLM_LOADING_SECONDS",
    "LLM_MAX_RETRIES",
    "LLM_SECONDS",
    "LOCAL_LLM_SECONDS",
    "PRIVATE_MCP_SERVERS",
    "PRIVATE_MODEL_SERVERS",
]

LLM_MAX_RETRIES = env.integer("LLM_MAX_RETRIES", 3, meaning="Retries of a failed model call.")
LLM_CONNECT_SECONDS = env.seconds(
    "LLM_CONNECT_SECONDS", 10, meaning="A connection to a model's server fails after this time."
)
# First token, silence and total. An agent's own parameters replace them.
LLM_SECONDS = (
    env.seconds(
        "LLM_FIRST_TOKEN_SECONDS",
        180,
        meaning="A model that has not begun to answer after this time is given up.",
    ),
    env.seconds(
        "LLM_SILENCE_SECONDS",
        120,
        meaning="An answer in which nothing comes for this time is broken.",
    ),
    env.seconds("LLM_TOTAL_SECONDS", 1800, meaning="One answer ends after this time."),
)
LOCAL_LLM_SECONDS = (
    env.seconds(
        "LOCAL_LLM_FIRST_TOKEN_SECONDS",
        1800,
        meaning="As LLM_FIRST_TOKEN_SECONDS, for a model server on this machine or in a private network.",
    ),
    env.seconds(
        "LOCAL_LLM_SILENCE_SECONDS",
        600,
        meaning="As LLM_SILENCE_SECONDS, for a model server on this machine or in a private network.",
    ),
    env.seconds(
        "LOCAL_LLM_TOTAL_SECONDS",
        14_400,
        meaning="As LLM_TOTAL_SECONDS, for a model server on this machine or in a private network.",
    ),
)
LLM_LOADING_SECONDS = env.seconds(
    "LLM_LOADING_SECONDS",
    300,
    meaning="A server that is still loading its model, or a local one that does not listen yet, is asked again "
    "for this time.",
)
PRIVATE_MCP_SERVERS = env.comma_separated(
    "PRIVATE_MCP_SERVERS",
    meaning="Private MCP servers that projects may allow their agents, as host:port or host:*, comma separated. "
    "Without them no project can.",
)
PRIVATE_MODEL_SERVERS = env.comma_separated(
    "PRIVATE_MODEL_SERVERS",
    meaning="Private model servers that agents may use, as host:port or host:*, comma separated. The word local "
    "stands for Ollama, vLLM, llama.cpp, LM Studio and the like on this machine at their usual ports. "
    "All other private addresses are refused.",
)
