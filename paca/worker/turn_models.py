"""The models of a turn with the keys that they are asked with: the agent's own, or lent by a person, a project or the server."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from paca.agents.models import Agent, KeySource
from paca.agents.services import model_keys
from paca.common.secret_removal import SecretMask
from paca.conversations.models import Conversation, Trigger
from paca.engine.turn import AgentProfile
from paca.worker import model_profiles
from paca.worker.agent_model import AgentModels, ModelSetup


@dataclass(frozen=True, slots=True)
class Beginner:
    """The member who alone has begun a turn, and the person; none for an agent, the system, or several people."""

    member_id: str = ""
    user_id: UUID | None = None


NOBODY = Beginner()


def models_of(
    conversation: Conversation, agent: Agent, profile: AgentProfile, *, mask: SecretMask
) -> AgentModels:
    """The models of the running turn, which neither read nor say a secret of ``mask``.

    An agent with keys of its own needs no query.
    """
    needs_none = agent.encrypted_key and (agent.fallback_encrypted_key or not agent.fallback_model)
    beginner = NOBODY if needs_none or agent.is_demo else beginner_of(conversation)
    own_key = model_keys.key_of(agent, user_id=beginner.user_id)
    fallback_key = model_keys.fallback_key_of(agent, user_id=beginner.user_id)
    personal = KeySource.USER in (own_key.source, fallback_key.source)
    own_shared, fallback_shared = own_key, fallback_key
    if personal:
        own_shared = model_keys.key_of(agent, user_id=None)
        fallback_shared = model_keys.fallback_key_of(agent, user_id=None)
    fallback = model_profiles.of_fallback(agent, profile)
    return AgentModels(
        own=ModelSetup(profile, own_key, own_shared),
        efforts=model_profiles.of_efforts(agent, profile),
        fallback=ModelSetup(fallback, fallback_key, fallback_shared) if fallback else None,
        key_owner=beginner.member_id if personal else "",
        mask=mask,
    )


def beginner_of(conversation: Conversation) -> Beginner:
    """The person who has caused everything that the running turn answers."""
    found = Trigger.objects.of_turn(conversation)
    columns = ("actor_id", "actor__user_id", "actor__user__is_active", "actor__deleted_at")
    rows = list(found.order_by().values_list(*columns).distinct()[:2])
    # guard: key-of-a-person-needs-one-beginner
    if len(rows) != 1:
        return NOBODY
    [(member_id, user_id, is_active, deleted_at)] = rows
    # guard: key-of-a-person-who-is-a-member
    if not user_id or not is_active or deleted_at is not None:
        return NOBODY
    return Beginner(str(member_id), user_id)
