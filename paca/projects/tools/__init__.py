"""The tools with which an agent reads and changes its project, in its own name and with its own role."""
