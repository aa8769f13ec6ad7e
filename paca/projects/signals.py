"""Signals to ``paca/conversations/receivers.py``: the only way in which a lower app calls a higher one.

They are sent inside the transaction with ``send``, so an error in a receiver rolls everything back.
"""

from django.dispatch import Signal

# A member was added or removed, or was given another role.
# Arguments: member, change ("added", "removed" or "role_changed"), by.
members_changed = Signal()
