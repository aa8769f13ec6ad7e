"""Size limits and keep times of what is stored, which ``settings.py`` takes over.

The keep times are off, but for traces; ``manage.py remove_old`` shows what each removes.
"""

from paca import env

__all__ = [
    "ATTACHMENTS_PER_TASK_MIB",
    "ATTACHMENT_MIB",
    "WORKSPACE_UPLOAD_MIB",
    "CONVERSATION_OUTPUT_MIB",
    "KEEP_CONVERSATION_DAYS",
    "KEEP_OUTPUT_DAYS",
    "KEEP_TRACE_DAYS",
    "KEEP_WORKSPACE_DAYS",
    "CONVERSATION_TRACE_MIB",
    "TRACING",
]

WORKSPACE_UPLOAD_MIB = env.integer(
    "WORKSPACE_UPLOAD_MIB",
    20,
    at_least=1,
    at_most=200,
    meaning="Size limit of a file that a person uploads into the sandbox of a conversation.",
)
ATTACHMENT_MIB = env.integer(
    "ATTACHMENT_MIB",
    10,
    at_least=1,
    at_most=200,
    meaning="Size limit of a file attached to a task.",
)
ATTACHMENTS_PER_TASK_MIB = env.integer(
    "ATTACHMENTS_PER_TASK_MIB",
    100,
    at_least=1,
    meaning="Size limit of all files attached to one task; they are stored in the database.",
)
CONVERSATION_OUTPUT_MIB = env.integer(
    "CONVERSATION_OUTPUT_MIB",
    200,
    at_least=0,
    meaning="Space in the database for the full outputs of one conversation, compressed; the oldest are "
    "dropped. With 0 none is kept, and only the beginning and the end of a long output can be read.",
)
KEEP_WORKSPACE_DAYS = env.integer(
    "KEEP_WORKSPACE_DAYS",
    0,
    at_most=36_500,
    meaning="The files of an ended conversation's sandbox are deleted this many days after their last use; "
    "its history stays. 0 keeps them.",
)
KEEP_OUTPUT_DAYS = env.integer(
    "KEEP_OUTPUT_DAYS",
    0,
    at_most=36_500,
    meaning="The downloads of long outputs are deleted this many days after the last use of the ended "
    "conversation; head and tail stay in the history. 0 keeps them.",
)
KEEP_CONVERSATION_DAYS = env.integer(
    "KEEP_CONVERSATION_DAYS",
    0,
    at_most=36_500,
    meaning="An ended conversation is deleted this many days after its last use, with history and files; its "
    "cost stays. 0 keeps it.",
)
TRACING = env.boolean(
    "TRACING",
    True,
    meaning="Whether people may switch on the trace of a conversation: the full requests and replies of its model "
    "calls, without secrets, encrypted in the database. Off: nothing more is stored, and present traces are not shown.",
)
CONVERSATION_TRACE_MIB = env.integer(
    "CONVERSATION_TRACE_MIB",
    50,
    at_least=1,
    meaning="Space in the database for the trace of one conversation, compressed; the oldest calls are dropped.",
)
KEEP_TRACE_DAYS = env.integer(
    "KEEP_TRACE_DAYS",
    30,
    at_most=36_500,
    meaning="The trace of a model call is deleted after this many days, also in a conversation that is in use. "
    "0 keeps it as long as the conversation.",
)
