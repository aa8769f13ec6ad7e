"""The setup of an agent's sandboxes: the commands of its project, then its own."""

from __future__ import annotations

import hashlib
import json

from paca.agents import network
from paca.agents.models import Agent
from paca.common.network_policy import Network
from paca.projects.models import Project
from paca.sandbox.environment import SetupPlan

FORM = 1  # of the key; another one builds each setup again


def plan_of(agent: Agent, project: Project) -> SetupPlan | None:
    """What is run once for sandboxes of the agent; None without commands."""
    scripts = [each.strip() for each in (project.setup_commands, agent.setup_commands)]
    commands = "\n".join(each for each in scripts if each)
    if not commands:
        return None
    policy = network.policy_of(agent, project)
    hosts = [] if policy.network is Network.NONE else [*policy.hosts, *policy.private]
    # guard: setups-of-other-projects-are-others
    parts = [FORM, str(project.pk), agent.sandbox_image or project.sandbox_image, commands]
    words = json.dumps([*parts, policy.network.value, hosts])
    key = hashlib.sha256(words.encode()).hexdigest()
    return SetupPlan(key, project.pk, agent.pk, commands)
