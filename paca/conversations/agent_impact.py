"""What a change of an agent's status touches, counted when it is asked for."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.db.models import Count, Q

from paca.agents.models import Agent
from paca.conversations.models import CheckIn, Conversation, PendingTrigger, PersonRequest
from paca.conversations.models.conversation import waits_for_person
from paca.conversations.models.statuses import ACTIVE_STATUSES, ConversationStatus
from paca.projects.models import Task


@dataclass(frozen=True, slots=True)
class Impact:
    """The number of each thing that an agent works on, or that waits for it.

    ``running``, ``waiting``, ``queued`` and ``paused`` are conversations; a waiting one waits for people.
    ``open_requests`` are their approvals, questions and plans. ``blocked_tasks`` are open tasks of others that wait for
    one of its tasks.
    """

    running: int
    waiting: int
    queued: int
    paused: int
    open_requests: int
    assigned_tasks: int
    blocked_tasks: int
    check_ins: int

    @property
    def touches_anything(self) -> bool:
        """Whether a person should see the counts before the agent stops."""
        return any(asdict(self).values())

    @property
    def in_words(self) -> str:
        """The counts that are not 0, such as ``2 running and 1 queued conversation``."""
        named = [
            f"{count} {one if count == 1 else many}"
            for count, one, many in (
                (self.running, "running conversation", "running conversations"),
                (self.waiting, "waiting conversation", "waiting conversations"),
                (self.queued, "queued conversation", "queued conversations"),
                (self.paused, "paused conversation", "paused conversations"),
                (self.open_requests, "open question of people", "open questions of people"),
                (self.assigned_tasks, "assigned task", "assigned tasks"),
                (self.blocked_tasks, "task that waits for them", "tasks that wait for them"),
                (self.check_ins, "check-in", "check-ins"),
            )
            if count
        ]
        return ", ".join(named)


def measure(agent: Agent) -> Impact:
    """Count what the agent works on now, in five queries whatever their number."""
    waits = waits_for_person()
    # Helpers are parts of the conversation that started them, as in lists.
    own = Conversation.objects.filter(agent=agent, deleted_at=None).top_level()
    conversations = own.aggregate(
        running=Count("pk", filter=Q(status__in=ACTIVE_STATUSES) & ~waits),
        waiting=Count("pk", filter=waits),
        queued=Count("pk", filter=Q(status=ConversationStatus.QUEUED)),
        paused=Count("pk", filter=Q(status=ConversationStatus.PAUSED)),
    )
    # An assignment or a mention that is stored and not delivered yet is work that waits.
    conversations["queued"] += PendingTrigger.objects.filter(agent=agent).count()
    mine = Task.objects.for_project(agent.project).open().filter(assignees__agent=agent)
    blocked = Task.objects.for_project(agent.project).open()
    blocked = blocked.filter(dependencies__blocked_by__in=mine.values("pk"))
    return Impact(
        **conversations,
        open_requests=PersonRequest.objects.open().filter(conversation__agent=agent).count(),
        assigned_tasks=mine.count(),
        blocked_tasks=blocked.exclude(assignees__agent=agent).distinct().count(),
        check_ins=CheckIn.objects.scheduled().filter(agent=agent).count(),
    )
