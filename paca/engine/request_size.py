"""The size of the next request of a turn, and the window that it has to fit into."""

from __future__ import annotations

from paca.engine.context.history import History
from paca.engine.context.measuring import Overhead, RequestSize, request_size
from paca.engine.limits import TurnProgress
from paca.engine.llm import providers
from paca.engine.turn import ActiveTurn, AgentProfile


def request_size_of(turn: ActiveTurn, history: History) -> RequestSize:
    """The size of a request with this history."""
    overhead = Overhead(len(turn.profile.system), turn.toolbox.characters)
    return request_size(history.messages(), history.measured, overhead)


def window_of(profile: AgentProfile, progress: TurnProgress) -> int | None:
    """The window in tokens; None if it is unknown.

    What the server told in a refusal of this model counts before the agent's setting, if it is less.
    """
    known = known_window(profile.model, profile.base_url, profile.context_window)
    model, refused = progress.compaction.refused_window
    # guard: context-refused-window-counts
    if refused and model == profile.model:
        return min(refused, known or refused)
    return known


def known_window(model: str, base_url: str, own: int | None) -> int | None:
    """The window of a model in tokens before its server was asked: the agent's ``own`` setting, or as known."""
    if own:
        return own
    return None if base_url else providers.models().get(model, {}).get("window")
