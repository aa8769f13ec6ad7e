"""Which network the sandbox of an agent has: what its settings want, as far as its project allows it."""

from django.conf import settings

from paca.agents.models import Agent
from paca.common.network_policy import EgressPolicy, Network, hosts_of, narrower
from paca.engine.context.prompt import WITHOUT_NETWORK
from paca.projects.models import Project

MAX_NAMED_HOSTS = 30
OPEN = (
    "whose commands reach public hosts by https:// and, to read, by http://, through the proxy that is set. "
    "Other ports, addresses and private networks are refused"
)
RESTRICTED = "whose commands reach only these hosts, by https:// and, to read, by http://: {}. Others are refused"


def policy_of(agent: Agent, project: Project) -> EgressPolicy:
    """What commands of the agent may reach."""
    return EgressPolicy(
        network=narrower(agent.sandbox_network, project.network),
        hosts=hosts_of(tuple(project.network_presets), tuple(project.network_hosts)),
        private=tuple(settings.PRIVATE_PACKAGE_SERVERS),
        max_bytes=settings.SANDBOX_NETWORK_MIB << 20,
        max_requests=settings.SANDBOX_NETWORK_REQUESTS,
    )


def describe(policy: EgressPolicy) -> str:
    """The network in the words of the system prompt, after "a Linux machine"."""
    if policy.network is Network.OPEN:
        return OPEN
    if policy.network is Network.NONE or not policy.hosts:
        return WITHOUT_NETWORK
    named = ", ".join(policy.hosts[:MAX_NAMED_HOSTS])
    more = len(policy.hosts) - MAX_NAMED_HOSTS
    return RESTRICTED.format(f"{named} and {more} more" if more > 0 else named)
