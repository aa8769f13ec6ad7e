"""The keep times, which ``settings.py`` takes over. All are off; ``manage.py remove_old`` shows what each removes."""

from paca import env

__all__ = ["KEEP_CONVERSATION_DAYS", "KEEP_OUTPUT_DAYS", "KEEP_WORKSPACE_DAYS"]

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
