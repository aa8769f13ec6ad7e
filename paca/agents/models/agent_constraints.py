"""What the database refuses in the table of agents."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from paca.agents.models.agent_fields import MIN_COST_USD
from paca.agents.models.choices import AgentCategory, AgentPriority, SandboxNetwork
from paca.projects.models import MemoryPolicy

CONSTRAINTS = [
    models.UniqueConstraint(
        fields=["project", "handle"],
        condition=Q(deleted_at__isnull=True),
        name="agent_handle_is_unique_in_its_project",
        violation_error_message="The project has an agent of this handle.",
    ),
    models.UniqueConstraint(
        "project",
        Lower("name"),
        condition=Q(deleted_at__isnull=True),
        name="agent_name_is_unique_in_its_project",
        violation_error_message="The project has an agent of this name.",
    ),
    models.CheckConstraint(
        name="agent_handle_is_not_empty_and_small",
        condition=~Q(handle="") & Q(handle=Lower("handle")),
    ),
    models.CheckConstraint(
        name="agent_is_active_paused_or_inactive",
        condition=Q(status__in=["active", "paused", "inactive"]),
    ),
    models.CheckConstraint(
        name="agent_has_one_persona_or_none",
        condition=Q(predefined_persona="") | Q(own_persona__isnull=True),
    ),
    models.CheckConstraint(
        name="agent_category_is_known", condition=Q(category__in=AgentCategory.values)
    ),
    models.CheckConstraint(
        name="agent_priority_is_low_to_critical",
        condition=Q(priority__in=AgentPriority.values),
    ),
    models.CheckConstraint(
        name="agent_sandbox_is_ephemeral_or_persistent",
        condition=Q(sandbox_life__in=["ephemeral", "persistent"]),
    ),
    models.CheckConstraint(
        name="agent_network_is_known", condition=Q(sandbox_network__in=SandboxNetwork.values)
    ),
    models.CheckConstraint(
        name="agent_approval_is_known", condition=Q(approval__in=["auto", "unsafe", "all"])
    ),
    models.CheckConstraint(
        name="agent_verification_is_known",
        condition=Q(verification__in=["off", "unattended", "always"]),
    ),
    models.CheckConstraint(
        name="agent_memory_policy_is_known",
        condition=Q(memory__in=MemoryPolicy.values),
    ),
    models.CheckConstraint(
        name="agent_limits_are_positive",
        condition=(Q(limit_steps=None) | Q(limit_steps__gte=1))
        & (Q(limit_tokens=None) | Q(limit_tokens__gte=1000))
        & (Q(limit_cost_usd=None) | Q(limit_cost_usd__gte=MIN_COST_USD))
        & (Q(limit_seconds=None) | Q(limit_seconds__gte=10)),
    ),
    models.CheckConstraint(
        name="agent_budgets_are_positive",
        condition=(Q(limit_turn_tokens=None) | Q(limit_turn_tokens__gte=1000))
        & (Q(limit_turn_cost_usd=None) | Q(limit_turn_cost_usd__gte=MIN_COST_USD))
        & (Q(limit_day_tokens=None) | Q(limit_day_tokens__gte=1000))
        & (Q(limit_day_cost_usd=None) | Q(limit_day_cost_usd__gte=MIN_COST_USD)),
    ),
    models.CheckConstraint(
        name="agent_works_in_one_to_ten_conversations",
        condition=Q(limit_concurrent__gte=1, limit_concurrent__lte=10),
    ),
    models.CheckConstraint(
        name="agent_key_and_its_last_four_go_together",
        condition=Q(encrypted_key="", key_last4="") | (~Q(encrypted_key="")),
    ),
    models.CheckConstraint(
        name="agent_fallback_key_belongs_to_a_fallback",
        condition=~Q(fallback_model="") | Q(fallback_encrypted_key="", fallback_key_last4=""),
    ),
]
