"""Opens the models of the agent for a turn: its own, that of an effort, the fallback, and that of summaries."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

from paca.agents import encryption
from paca.agents.services.model_keys import NO_KEY, FoundKey
from paca.common.secret_removal import SecretMask
from paca.engine.llm.base import LLM, Chunk, Request
from paca.engine.llm.model_errors import ModelError, ModelMisconfigured
from paca.engine.llm.registry import open_llm
from paca.engine.llm.secret_masking import masked
from paca.engine.llm.text_tool_calls.adapter import TextCallingLLM
from paca.engine.model_state import ModelChoice
from paca.engine.turn import AgentProfile, OpenedModel
from paca.worker.event_masking import NO_SECRETS

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelSetup:
    """What one of the agent's models is asked with, and its key.

    ``shared_key`` takes the place of a person's own key as soon as somebody else writes in the turn.
    """

    profile: AgentProfile
    key: FoundKey = NO_KEY
    shared_key: FoundKey = NO_KEY

    def with_key(self, key: FoundKey) -> AgentProfile:
        """The profile, which says whose key is used."""
        return replace(self.profile, key_source=key.source, key_last4=key.last4)


@dataclass(frozen=True, slots=True)
class AgentModels:
    """All models that may answer in a turn. ``efforts`` has the profiles of those efforts that the agent sets.

    ``key_owner`` is the member whose own key is used, who began the turn; empty if it is another key. ``mask`` is put
    on each request and answer.

    To give the agent a model for another role, add it as ``compaction_llm`` is added in ``_open``.
    """

    own: ModelSetup
    efforts: dict[str, AgentProfile] = field(default_factory=dict)
    fallback: ModelSetup | None = None
    key_owner: str = ""
    mask: SecretMask = NO_SECRETS
    _opened: dict[ModelChoice, OpenedModel] = field(default_factory=dict)

    def open(self, choice: ModelChoice) -> OpenedModel:
        """The client of the chosen model, with its profile; opened once in a turn.

        An own model that cannot be opened is one that refuses each request, if there is a fallback. Raises
        ``ModelMisconfigured`` or ``SecretUnreadable`` if there is none, and ``ModelMisconfigured`` for the fallback.
        """
        if choice not in self._opened:
            self._opened[choice] = self._open(choice)
        return self._opened[choice]

    def _open(self, choice: ModelChoice) -> OpenedModel:
        setup = self._setup(choice)
        found = setup.shared_key if choice.shared_key else setup.key
        profile = setup.with_key(found)
        try:
            # In the clear only when it is used.
            api_key = encryption.decrypt(found.encrypted_key) if found.encrypted_key else ""
            llm = _open(profile, profile.model, api_key, self.mask)
        except (ModelMisconfigured, encryption.SecretUnreadable) as error:
            refusal = ModelMisconfigured(error.detail)
            if choice.fallback:
                raise refusal from error
            if self.fallback is None:
                raise
            return OpenedModel(profile, _RefusingLLM(refusal))
        if profile.text_tool_calls:
            llm = TextCallingLLM(llm)
        return OpenedModel(profile, llm, compaction_llm=_open_role(profile, api_key, self.mask))

    def _setup(self, choice: ModelChoice) -> ModelSetup:
        profile = self.efforts.get(choice.effort, self.own.profile)
        if choice.fallback and self.fallback is not None:
            # guard: fallback-keeps-the-steps-of-the-effort
            steps = profile.effort_steps
            return replace(
                self.fallback, profile=replace(self.fallback.profile, effort_steps=steps)
            )
        return replace(self.own, profile=profile)


def _open_role(profile: AgentProfile, api_key: str, mask: SecretMask) -> LLM | None:
    """The client of the model for summaries, with the agent's key and base URL.

    None if the agent's own model writes them, also if the other one cannot be opened.
    """
    if not profile.compaction_model:
        return None
    try:
        return _open(profile, profile.compaction_model, api_key, mask)
    except ModelMisconfigured as error:
        logger.warning("the model for summaries cannot be used", extra={"code": error.code})
        return None


def open_title_model(models: AgentModels, *, shared_key: bool) -> OpenedModel:
    """The model that writes titles, as ``_open_after_turn`` opens it."""
    return _open_after_turn(models, models.own.profile.title_model, shared_key=shared_key)


def open_review_model(models: AgentModels, *, shared_key: bool) -> OpenedModel:
    """The model that looks back at a conversation, as ``_open_after_turn`` opens it."""
    return _open_after_turn(models, review_model(models.own.profile), shared_key=shared_key)


def review_model(profile: AgentProfile) -> str:
    """The model that looks back at a conversation: that of summaries, or the agent's own."""
    return profile.compaction_model or profile.model


def _open_after_turn(models: AgentModels, model: str, *, shared_key: bool) -> OpenedModel:
    """A model with the key that the turn has ended with.

    ``shared_key``: somebody else than its beginner has written in it. Raises ``ModelMisconfigured`` or
    ``SecretUnreadable`` if it cannot be opened.
    """
    setup = models.own
    found = setup.shared_key if shared_key else setup.key
    profile = setup.with_key(found)
    api_key = encryption.decrypt(found.encrypted_key) if found.encrypted_key else ""
    return OpenedModel(profile, _open(profile, model, api_key, models.mask))


def _open(profile: AgentProfile, model: str, api_key: str, mask: SecretMask) -> LLM:
    llm = open_llm(model, base_url=profile.base_url, api_key=api_key, limits=profile.time_limits)
    return masked(llm, api_key, mask)


class _RefusingLLM:
    """A model whose settings cannot work. Each request fails, and the fallback goes on."""

    def __init__(self, error: ModelError) -> None:
        self._error = error

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Raise the error of the settings."""
        raise self._error
        yield  # makes it a stream
