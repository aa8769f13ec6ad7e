"""Signals to ``paca/conversations/receivers.py``: the only way in which a lower app calls a higher one.

They are sent inside the transaction with ``send``, so an error in a receiver rolls everything back.
A signal that asks gets its answer from what its receivers return.
"""

from django.dispatch import Signal

# A member was added or removed, or was given another role.
# Arguments: member, change ("added", "removed" or "role_changed"), by.
members_changed = Signal()

# A project was deleted, after all its members were removed and their conversations stopped. Arguments: project.
project_deleted = Signal()

# A task was assigned to a member.
# Arguments: task, member, by (the assigning member, None for the system).
# If an agent assigned it with its tools, by.acting_in is the id of its conversation: it tells how many
# agents in a row have called one another.
task_assigned = Signal()

# A member is no longer assigned to a task.
# Arguments: task, member, by (the member who unassigned it, None for the system).
task_unassigned = Signal()

# A comment mentions a member for the first time.
# Arguments: comment, member (the mentioned one), by (the author). As above, by.acting_in is the
# conversation of an agent that wrote it.
member_mentioned = Signal()

# A row changed that open pages show. Pages fetch it again.
# Arguments: project_id, noun ("task", "comment", "doc", "sprint" ...), id (what the address of it names),
# facts (optional; more of the frame, such as the task of a comment).
project_changed = Signal()

# A project has another time zone. Arguments: project.
time_zone_changed = Signal()

# An agent has another status, which stands on the agent. Arguments: agent, by (None for the system).
agent_status_changed = Signal()

# A model is about to be called outside a conversation, so that its cost is counted all the same.
# Arguments: call_id, agent, purpose (of ModelCallPurpose), asked (optional: its model and base_url, else the agent's),
# key_source (optional: whose key it uses).
model_call_started = Signal()

# Such a call has ended. Arguments: call_id, agent, usage (what the engine counted; None if the model was not
# asked), failed, asked (as above).
model_call_ended = Signal()

# The API shows tasks. A receiver returns {task id: agent state}, for those that an agent works on.
# Arguments: task_ids. An agent state is {conversation, agent, status, activity} as CONTRACTS says.
agent_states_asked = Signal()
