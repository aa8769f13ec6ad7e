"""Refusals of agents: an agent that does not start says so in a comment, once."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from paca.agents.models import Agent
from paca.conversations.services import hops as hop_counts
from paca.conversations.services import thread_comments
from paca.projects.models import Comment, Doc, Member, Task

# The same refusal is not said again within this time.
QUIET = timedelta(hours=1)


def find(agent: Agent, subject: Task | Doc, *, hops: int) -> str:
    """Why the agent does not start on a trigger with so many hops, for people; empty if it starts.

    A paused agent and one at its limit start later: their conversations are queued.
    """
    if agent.status == Agent.Status.INACTIVE:
        return (
            "I am inactive, so I do not start on this. Set me to active in my settings, then mention me"
            " or assign this again."
        )
    # guard: agent-hops
    if hops > settings.AGENT_MAX_HOPS:
        return (
            f"I do not start on this: agents may call one another {settings.AGENT_MAX_HOPS} times in a"
            " row. A person who mentions me or assigns this lets me go on."
        )
    # guard: agent-calls-per-hour
    if hops and hop_counts.calls_within_an_hour(subject) >= settings.AGENT_CALLS_PER_HOUR:
        return (
            f"I do not start on this: agents have called one another {settings.AGENT_CALLS_PER_HOUR}"
            " times here within an hour. A person who mentions me or assigns this lets me go on."
        )
    # An agent that makes a task for each call is under the limit of every task.
    # guard: agent-calls-per-hour-in-project
    if hops and (
        hop_counts.calls_within_an_hour_in_project(agent.project_id)
        >= settings.AGENT_CALLS_IN_PROJECT_PER_HOUR
    ):
        return (
            "I do not start on this: agents have called one another"
            f" {settings.AGENT_CALLS_IN_PROJECT_PER_HOUR} times in this project within an hour. A person"
            " who mentions me or assigns this lets me go on."
        )
    return ""


def say(refusal: str, subject: Task | Doc, *, member: Member, comment: Comment | None) -> None:
    """Comment with the refusal where the agent was called, unless it has said the same of late."""
    about = {"task": subject} if isinstance(subject, Task) else {"doc": subject}
    said = Comment.objects.live().filter(author=member, text=refusal, **about)
    if not said.filter(created_at__gte=timezone.now() - QUIET).exists():
        thread_comments.post(subject, refusal, by=member, answers=comment)
