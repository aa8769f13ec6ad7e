"""Received in ``paca/conversations/receivers.py``: the one seam where an app calls upwards.

Sent inside the transaction with ``send``, so that an error in a receiver rolls everything back.
"""

from django.dispatch import Signal

# A member was added or removed, or was given another role.
# Arguments: member, change ("added", "removed" or "role_changed"), by.
members_changed = Signal()
