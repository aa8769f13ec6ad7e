"""Services for teams: a lead and up to five teammates, each a conversation of its own that lives on between its work.

The rows tell everything, so a team outlives every process. ``settling`` looks at the teammates whose turn has ended:
after each end of a turn, and in the sweep of every worker, so a process that dies in between loses nothing.
The project is locked first, then the conversation of the lead, then those of its teammates.
"""
